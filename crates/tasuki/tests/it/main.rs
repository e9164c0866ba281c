//! it

mod power_loss;
mod tidy;
