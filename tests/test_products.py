"""The networks' matrix product and its gradients, by NumPy as by torch."""

import pytest
import torch
from torch.autograd import gradcheck

from initscope.models import products
from initscope.models.products import product


def pair(*batch, dtype=torch.float32):
    """Two matrices a batch element, the second one transposed in memory, as weights are."""
    drawn = torch.Generator().manual_seed(7)
    a, b = (torch.randn(*batch, *shape, generator=drawn, dtype=dtype) for shape in ((5, 3), (7, 3)))
    return a.requires_grad_(), b.mT.detach().requires_grad_()


@pytest.mark.parametrize("batch", [(2,), (4, 3)])
def test_it_is_differentiated_rightly(batch):
    """Beside finite differences, in double precision."""
    assert gradcheck(product, pair(*batch, dtype=torch.float64))


def test_only_portable_products_are_numpys(monkeypatch):
    """The tests' own process is portable."""
    made = []
    multiplied = products.multiplied
    monkeypatch.setattr(products, "multiplied", lambda a, b: made.append(1) or multiplied(a, b))
    a, b = pair(2)
    by_numpy = product(a, b)
    assert len(made) == 1
    by_numpy.sum().backward()
    assert len(made) == 3
    monkeypatch.setattr(products, "portable", lambda: False)
    assert torch.equal(product(a, b), a @ b) and len(made) == 3
    assert torch.allclose(by_numpy, a @ b, atol=1e-6)  # of sums of three terms of about 1: a few roundings


def test_a_gradient_that_nobody_asks_for_is_not_computed(monkeypatch):
    a, b = pair(2)
    c = product(a.detach(), b)
    made = []
    multiplied = products.multiplied
    monkeypatch.setattr(products, "multiplied", lambda *matrices: made.append(1) or multiplied(*matrices))
    c.sum().backward()
    assert len(made) == 1 and a.grad is None and b.grad.shape == b.shape


def test_what_overflows_is_infinite_without_a_warning(recwarn):
    a = torch.full((2, 3, 3), 1e30)
    assert product(a, a).isinf().all() and product(a * 1e10, a - a).isnan().all()
    assert not recwarn.list
