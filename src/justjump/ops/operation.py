"""The one way to give torch an operation and its gradient."""

from collections.abc import Callable, Sequence
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
    """A ``torch.library`` operation, and its gradient if it has one.

    A call that nothing traces skips torch's dispatcher: on a small graph the way through it, forward and backward,
    takes longer than the kernel.

    Args:
        name: ``namespace::name``
        run: the function; its result is a tensor or, where backward needs more, a tuple that begins with the result
        learned: number of leading inputs that may get gradients: tensors, None, or lists of tensors
    """

    def __init__(self, name: str, run: Callable[..., Any], learned: int) -> None:
        self._run, self._learned = run, learned
        self._traced = torch.library.custom_op(name, run, mutates_args=())
        self._eager: type[torch.autograd.Function] | None = None

    def register_fake(self, fake: Callable[..., Any]) -> Callable[..., Any]:
        """Tell shapes and dtypes of the output without computing it."""
        self._traced.register_fake(fake)
        return fake

    def register_gradient(self, save: Callable[..., None], gradient: Callable[..., Sequence[Any]]) -> None:
        """Make the operation differentiable.

        Args:
            save: ``save(ctx, inputs, output)`` keeps on ``ctx`` what backward needs
            gradient: ``gradient(ctx, grad)`` gives the gradients of the learned inputs, a list for a list
        """
        run, learned = self._run, self._learned

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.constants = len(inputs) - learned
            ctx.lengths = [len(x) if isinstance(x, list | tuple) else None for x in inputs[:learned]]
            ctx.set_materialize_grads(False)
            save(ctx, inputs, output)

        def backward(ctx: Any, grad: Any, *_: Any) -> tuple[Any, ...]:
            if grad is None:
                found: Sequence[Any] = [None if n is None else [None] * n for n in ctx.lengths]
            else:
                found = gradient(ctx, grad)
            return (*found, *(None,) * ctx.constants)

        self._traced.register_autograd(backward, setup_context=setup)

        class Eager(torch.autograd.Function):
            """Learned inputs come one by one, the rest in one tuple: torch looks at every argument by itself."""

            @staticmethod
            def forward(ctx: Any, constants: tuple[Any, ...], lengths: list[int | None], *flat: Any) -> Any:
                inputs = (*_unflatten(flat, lengths), *constants)
                output = run(*inputs)
                ctx.given = len(flat)  # a name that no `save` uses
                ctx.set_materialize_grads(False)
                save(ctx, inputs, output)
                return output[0] if isinstance(output, tuple) else output

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                found = (None,) * ctx.given if grad is None else _flatten(gradient(ctx, grad))
                return (None, None, *found)

        self._eager = Eager

    def __call__(self, *inputs: Any) -> Any:
        if is_traced(*_flatten(inputs[: self._learned])):
            return self._result(self._traced(*inputs))
        if not torch.is_grad_enabled():
            return self._result(self._run(*inputs))
        if self._eager is not None:
            learned = inputs[: self._learned]
            lengths = [len(x) if isinstance(x, list | tuple) else None for x in learned]
            return self._eager.apply(inputs[self._learned :], lengths, *_flatten(learned))  # type: ignore[no-untyped-call]
        # Without a gradient: torch says so where one is wanted.
        wanted = any(isinstance(x, Tensor) and x.requires_grad for x in _flatten(inputs))
        return self._traced(*inputs) if wanted else self._run(*inputs)

    def _result(self, output: Any) -> Any:
        """What a differentiable operation gives besides its result is for backward only."""
        return output[0] if self._eager is not None and isinstance(output, tuple | list) else output


def operation(name: str, learned: int = 1) -> Callable[[Callable[..., Any]], Operation]:
    """Make a function of tensors and numbers an :class:`Operation`."""
    return lambda run: Operation(name, run, learned)


def _flatten(values: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat.extend(value) if isinstance(value, list | tuple) else flat.append(value)
    return flat


def _unflatten(flat: Sequence[Any], lengths: Sequence[int | None]) -> list[Any]:
    values: list[Any] = []
    at = 0
    for length in lengths:
        if length is None:
            values.append(flat[at])
            at += 1
        else:
            values.append(list(flat[at : at + length]))
            at += length
    return values
