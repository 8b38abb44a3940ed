"""The one way to give torch an operation and its gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_PLAIN = (Tensor, torch.nn.Parameter)
Save = Callable[[Sequence[Any], Sequence[Any], Any], Sequence[Tensor | None]]
Gradient = Callable[[Tensor, Sequence[Any], Sequence[Any]], Sequence[Any]]


def _number(name: str) -> Callable[[], int]:
    found: Callable[[], int] = getattr(torch._C, name, lambda: 0)
    return found


_functorch, _modes = _number("_are_functorch_transforms_active"), _number("_len_torch_dispatch_stack")
_jit = _number("_is_tracing")
_NO_TANGENT = (
    "the native kernels have no forward-mode derivative (jvp): call the layer inside justjump.ops.without_native(), or "
    "differentiate backwards (torch.autograd.grad)"
)


def is_traced(*inputs: Any) -> bool:
    """Whether torch looks for operations of its own here: it compiles, exports, traces or transforms."""
    if torch.compiler.is_compiling() or _jit() or _functorch() or _modes():
        return True
    return any(isinstance(x, Tensor) and type(x) not in _PLAIN for x in inputs)


def is_scripted() -> bool:
    """Whether ``torch.jit.trace`` is at work."""
    return not torch.compiler.is_compiling() and bool(_jit())


def is_transformed() -> bool:
    """Whether a transform of ``torch.func`` is at work."""
    return not torch.compiler.is_compiling() and bool(_functorch())


def _refuse_tangents(inputs: Sequence[Any]) -> None:
    """torch would take the derivative for zero."""
    stack = torch._C._functorch.get_interpreter_stack() or []
    if any(level.key() == torch._C._functorch.TransformType.Jvp for level in stack) and any(
        isinstance(x, Tensor) and torch._C._functorch.is_gradtrackingtensor(x) for x in inputs
    ):
        raise NotImplementedError(_NO_TANGENT)


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
        self.run, self._learned = run, learned
        self._traced = torch.library.custom_op(name, run, mutates_args=())
        self._eager: type[torch.autograd.Function] | None = None

    def register_fake(self, fake: Callable[..., Any]) -> Callable[..., Any]:
        """Tell shapes and dtypes of the output without computing it."""
        self._traced.register_fake(fake)
        return fake

    def register_gradient(self, save: Save, gradient: Gradient) -> None:
        """Make the operation differentiable.

        Args:
            save: ``save(learned, constants, output)`` gives the tensors that backward needs, None among them
            gradient: ``gradient(grad, saved, constants)`` gives the gradients of the learned inputs, a list for a list
        """
        run, learned = self.run, self._learned

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            constants = inputs[learned:]
            ctx.lengths = _lengths(inputs[:learned])
            ctx.set_materialize_grads(False)
            # Here, unlike below, torch must see every tensor.
            ctx.others = [None if isinstance(x, Tensor) else x for x in constants]
            ctx.save_for_backward(
                *(x if isinstance(x, Tensor) else None for x in constants), *save(inputs[:learned], constants, output)
            )

        def backward(ctx: Any, grad: Any, *_: Any) -> tuple[Any, ...]:
            tensors, count = ctx.saved_tensors, len(ctx.others)
            constants = [y if x is None else x for x, y in zip(ctx.others, tensors[:count], strict=True)]
            if grad is None:
                found: Sequence[Any] = [None if n is None else [None] * n for n in ctx.lengths]
            else:
                found = gradient(grad, tensors[count:], constants)
            return (*found, *(None,) * count)

        self._traced.register_autograd(backward, setup_context=setup)

        class Eager(torch.autograd.Function):
            """Learned inputs come one by one, the rest in one tuple: torch looks at every argument by itself."""

            @staticmethod
            def forward(ctx: Any, constants: tuple[Any, ...], lengths: list[int | None], *flat: Any) -> Any:
                inputs = _unflatten(flat, lengths)
                output = run(*inputs, *constants)
                ctx.constants, ctx.count = constants, len(flat)
                ctx.set_materialize_grads(False)
                ctx.save_for_backward(*save(inputs, constants, output))
                return output[0] if isinstance(output, tuple) else output

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                if grad is None:
                    return (None,) * (2 + ctx.count)
                return (None, None, *_flatten(gradient(grad, ctx.saved_tensors, ctx.constants)))

            @staticmethod
            def jvp(ctx: Any, *_: Any) -> Any:
                raise NotImplementedError(_NO_TANGENT)

        self._eager = Eager

    def __call__(self, *inputs: Any) -> Any:
        if is_traced(*_flatten(inputs[: self._learned])):
            if is_transformed():
                _refuse_tangents(_flatten(inputs[: self._learned]))
            return self._result(self._traced(*inputs))
        if not torch.is_grad_enabled():
            return self._result(self.run(*inputs))
        if self._eager is not None:
            learned = inputs[: self._learned]
            return self._eager.apply(inputs[self._learned :], _lengths(learned), *_flatten(learned))  # type: ignore[no-untyped-call]
        # Without a gradient: torch says so where one is wanted.
        wanted = any(isinstance(x, Tensor) and x.requires_grad for x in _flatten(inputs))
        return self._traced(*inputs) if wanted else self.run(*inputs)

    def _result(self, output: Any) -> Any:
        """What a differentiable operation gives besides its result is for backward only."""
        return output[0] if self._eager is not None and isinstance(output, tuple | list) else output


def operation(name: str, learned: int = 1) -> Callable[[Callable[..., Any]], Operation]:
    """Make a function of tensors and numbers an :class:`Operation`."""
    return lambda run: Operation(name, run, learned)


def _lengths(values: Sequence[Any]) -> list[int | None]:
    """Of the lists among the values."""
    return [len(x) if isinstance(x, (list, tuple)) else None for x in values]


def _flatten(values: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat.extend(value) if isinstance(value, (list, tuple)) else flat.append(value)
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
