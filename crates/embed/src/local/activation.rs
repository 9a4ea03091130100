//! Activation functions of feed-forward layers.

use rten_simd::SimdUnaryOp as _;
use rten_vecmath::{ApproxGelu, Gelu};

/// Activation function of the feed-forward layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Activation {
    /// Exact GELU, by the error function.
    #[default]
    Gelu,
    /// Approximate GELU, by the hyperbolic tangent.
    GeluTanh,
}

impl Activation {
    /// Returns the function with a name of `config.json`, or `None` if it is not supported.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "gelu" => Some(Self::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" => Some(Self::GeluTanh),
            _ => None,
        }
    }

    /// Applies the function to each number.
    pub(super) fn apply(self, numbers: &mut [f32]) {
        match self {
            Self::Gelu => Gelu {}.map_mut(numbers),
            Self::GeluTanh => ApproxGelu {}.map_mut(numbers),
        }
    }
}
