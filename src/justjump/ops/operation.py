"""Custom operations that take the short way where nothing traces them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_PLAIN = (Tensor, torch.nn.Parameter)


def _number(name: str) -> Callable[[], int]:
    found: Callable[[], int] = getattr(torch._C, name, lambda: 0)
    return found


_functorch, _modes = _number("_are_functorch_transforms_active"), _number("_len_torch_dispatch_stack")
_jit = _number("_is_tracing")


def is_traced(*inputs: Any) -> bool:
    """Whether torch looks for operations of its own here: it compiles, exports, traces or transforms."""
    if torch.compiler.is_compiling() or _jit() or _functorch() or _modes():
        return True
    return any(isinstance(x, Tensor) and type(x) not in _PLAIN for x in inputs)


class Operation:
    """A ``torch.library`` operation and its gradient.

    A call that nothing traces skips torch's dispatcher: on a small graph the way through it, forward and backward,
    takes longer than the kernel.
    """

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self._run = run
        self._traced = torch.library.custom_op(name, run, mutates_args=())
        self._eager: type[torch.autograd.Function] | None = None

    def register_fake(self, fake: Callable[..., Any]) -> Callable[..., Any]:
        self._traced.register_fake(fake)
        return fake

    def register_autograd(self, backward: Callable[..., Any], *, setup_context: Callable[..., None]) -> None:
        self._traced.register_autograd(backward, setup_context=setup_context)
        run, gradient = self._run, backward

        class Eager(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                output = run(*inputs)
                setup_context(ctx, inputs, output)
                return output

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return gradient(ctx, *grads)

        self._eager = Eager

    def __call__(self, *inputs: Any) -> Any:
        if is_traced(*inputs):
            return self._traced(*inputs)
        if not torch.is_grad_enabled():
            return self._run(*inputs)
        if self._eager is not None:
            return self._eager.apply(*inputs)  # type: ignore[no-untyped-call]
        # Without a gradient: torch says so where one is wanted.
        wanted = any(isinstance(x, Tensor) and x.requires_grad for x in inputs)
        return self._traced(*inputs) if wanted else self._run(*inputs)


def operation(name: str) -> Callable[[Callable[..., Any]], Operation]:
    """Make a function of tensors and numbers an :class:`Operation`."""
    return lambda run: Operation(name, run)
