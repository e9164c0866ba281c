//! The result: medians of the rounds, ratios within them, and how they compare with the bars.

use serde::Serialize;

use super::age::Age;
use super::load::Seen;

/// The bars apply at this many callers.
pub const CALLERS_OF_THE_BARS: usize = 256;

/// A server does one authenticated request and one grouped write.
pub const SERVER_OF_FLOOR_MAX: f64 = 2.0;
pub const ENGINE_OF_RAW_CPU_MAX: f64 = 2.5;
pub const GROWTH_MAX: f64 = 1.3;
pub const IDLE_MIB_MAX: f64 = 40.0;
pub const READY_MS_MAX: f64 = 200.0;
/// An old draft against a new one: the difference should be noise.
pub const AGE_MAX: f64 = 1.3;

/// Everything, as it is printed.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub version: &'static str,
    pub n_cores: usize,
    pub rounds: usize,
    pub seconds_per_measurement: f64,
    pub stores: Vec<StoreReport>,
    pub growth: Vec<Growth>,
    pub age: Age,
    pub idle: Idle,
    pub bars: Vec<Bar>,
}

/// One size of the store.
#[derive(Debug, Clone, Serialize)]
pub struct StoreReport {
    /// In the store when the measurements began.
    pub handoffs: u64,
    pub filled_per_second: f64,
    pub database_bytes: u64,
    pub measured: Vec<Row>,
}

/// One number of callers.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub callers: usize,
    pub raw: Figures,
    pub read: Figures,
    pub engine: Figures,
    pub server: Figures,
    /// Ratios of rates. No limit applies to them: a faster bare writer would make them worse.
    pub engine_of_raw: f64,
    pub server_of_raw: f64,
    /// The least CPU that a transition over HTTP can take: an authenticated read, and the bare
    /// writer.
    pub floor_us: Option<f64>,
    pub server_of_floor: Option<f64>,
    pub engine_of_raw_cpu: Option<f64>,
}

/// Medians over the rounds.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub bytes_per_transition: Option<f64>,
    pub cpu_us_per_transition: Option<f64>,
    pub resident_mib: Option<f64>,
    pub peak_mib: Option<f64>,
}

/// The cost of a transition in the largest store, relative to the smallest.
#[derive(Debug, Clone, Serialize)]
pub struct Growth {
    pub callers: usize,
    pub raw: f64,
    pub engine: f64,
    pub server: f64,
}

/// A server that was started on the largest store and left alone.
#[derive(Debug, Clone, Serialize)]
pub struct Idle {
    pub handoffs: u64,
    pub ready_ms: f64,
    pub resident_mib: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Bar {
    pub what: String,
    pub wanted: String,
    pub measured: f64,
    pub met: bool,
}

/// The measurements of all four in one round.
#[derive(Debug, Clone)]
pub struct Quartet {
    pub raw: Seen,
    /// Authenticated requests that read.
    pub read: Seen,
    pub engine: Seen,
    pub server: Seen,
}

impl Row {
    /// Ratios are taken within a round, where all four run under the same machine load.
    pub fn of(callers: usize, rounds: &[Quartet]) -> Self {
        let ratio = |of: fn(&Quartet) -> &Seen| {
            median(rounds.iter().map(|quartet| of(quartet).per_second / quartet.raw.per_second))
        };
        let figures = |of: fn(&Quartet) -> &Seen| Figures::of(rounds.iter().map(of));
        Self {
            callers,
            raw: figures(|quartet| &quartet.raw),
            read: figures(|quartet| &quartet.read),
            engine: figures(|quartet| &quartet.engine),
            server: figures(|quartet| &quartet.server),
            engine_of_raw: ratio(|quartet| &quartet.engine),
            server_of_raw: ratio(|quartet| &quartet.server),
            floor_us: known(rounds, |quartet| quartet.floor_us()),
            server_of_floor: known(rounds, |quartet| {
                Some(quartet.server.cpu_us_per_transition? / quartet.floor_us()?)
            }),
            engine_of_raw_cpu: known(rounds, |quartet| {
                let raw = quartet.raw.cpu_us_per_transition?;
                Some(quartet.engine.cpu_us_per_transition? / raw)
            }),
        }
    }
}

impl Quartet {
    fn floor_us(&self) -> Option<f64> {
        Some(self.read.cpu_us_per_transition? + self.raw.cpu_us_per_transition?)
    }
}

/// The median over the rounds in which it is known.
fn known(rounds: &[Quartet], of: fn(&Quartet) -> Option<f64>) -> Option<f64> {
    let known: Vec<_> = rounds.iter().filter_map(of).collect();
    (!known.is_empty()).then(|| median(known.into_iter()))
}

impl Figures {
    fn of<'s>(rounds: impl Iterator<Item = &'s Seen> + Clone) -> Self {
        let of = |value: fn(&Seen) -> f64| median(rounds.clone().map(value));
        let known = |value: fn(&Seen) -> Option<f64>| {
            let known: Vec<_> = rounds.clone().filter_map(value).collect();
            (!known.is_empty()).then(|| median(known.into_iter()))
        };
        Self {
            per_second: of(|seen| seen.per_second),
            p50_ms: of(|seen| seen.p50_ms),
            p99_ms: of(|seen| seen.p99_ms),
            bytes_per_transition: known(|seen| seen.bytes_per_transition),
            cpu_us_per_transition: known(|seen| seen.cpu_us_per_transition),
            resident_mib: known(|seen| seen.resident_mib),
            peak_mib: known(|seen| seen.peak_mib),
        }
    }
}

/// The same callers on the smallest and on the largest store.
pub fn growth(callers: usize, small: &[Quartet], large: &[Quartet]) -> Growth {
    let ratio = |of: fn(&Quartet) -> &Seen| {
        let pairs = small.iter().zip(large);
        median(pairs.map(|(small, large)| of(small).per_second / of(large).per_second))
    };
    Growth {
        callers,
        raw: ratio(|quartet| &quartet.raw),
        engine: ratio(|quartet| &quartet.engine),
        server: ratio(|quartet| &quartet.server),
    }
}

/// The bars that apply to these measurements.
pub fn bars(stores: &[StoreReport], growth: &[Growth], age: &Age, idle: &Idle) -> Vec<Bar> {
    let mut bars = Vec::new();
    let at_bar = |callers: usize| callers == CALLERS_OF_THE_BARS;
    if let Some(store) = stores.first()
        && let Some(row) = store.measured.iter().find(|row| at_bar(row.callers))
    {
        let at = format!("CPU of a transition at {CALLERS_OF_THE_BARS} callers, of");
        if let Some(measured) = row.server_of_floor {
            bars.push(at_most(
                format!("server: {at} the floor"),
                SERVER_OF_FLOOR_MAX,
                "×",
                measured,
            ));
        }
        if let Some(measured) = row.engine_of_raw_cpu {
            let what = format!("engine: {at} the bare writer's");
            bars.push(at_most(what, ENGINE_OF_RAW_CPU_MAX, "×", measured));
        }
    }
    if let (Some(small), Some(large)) = (stores.first(), stores.last())
        && small.handoffs != large.handoffs
        && let Some(growth) = growth.iter().find(|growth| at_bar(growth.callers))
    {
        for (who, measured) in [("engine", growth.engine), ("server", growth.server)] {
            let what = format!(
                "{who}: cost of a transition with {} handoffs, of that with {}",
                large.handoffs, small.handoffs
            );
            bars.push(at_most(what, GROWTH_MAX, "×", measured));
        }
    }
    let what = format!("cost of an edit after {}, of that of a new draft", age.n_edits);
    bars.push(at_most(what, AGE_MAX, "×", age.old_of_young));
    let on = format!("on {} handoffs", idle.handoffs);
    if let Some(resident_mib) = idle.resident_mib {
        bars.push(at_most(format!("idle server {on}"), IDLE_MIB_MAX, " MiB", resident_mib));
    }
    bars.push(at_most(format!("start until ready {on}"), READY_MS_MAX, " ms", idle.ready_ms));
    bars
}

pub fn at_least(what: String, bar: f64, measured: f64) -> Bar {
    Bar { what, wanted: format!("at least {bar}"), measured, met: measured >= bar }
}

pub fn at_most(what: String, bar: f64, unit: &str, measured: f64) -> Bar {
    Bar { what, wanted: format!("at most {bar}{unit}"), measured, met: measured <= bar }
}

/// The middle one; of an even number the lower of the two in the middle.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(per_second: f64) -> Seen {
        Seen {
            per_second,
            p50_ms: 1.0,
            p99_ms: 2.0,
            bytes_per_transition: Some(per_second),
            cpu_us_per_transition: None,
            resident_mib: None,
            peak_mib: None,
        }
    }

    fn trio(raw: f64, engine: f64, server: f64) -> Quartet {
        Quartet { raw: seen(raw), read: seen(raw), engine: seen(engine), server: seen(server) }
    }

    fn using(cpu_us: f64) -> Seen {
        Seen { cpu_us_per_transition: Some(cpu_us), ..seen(100.0) }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The machine was three times slower in the second round; the ratios stay the same.
        let rounds = [trio(300.0, 210.0, 150.0), trio(100.0, 70.0, 50.0), trio(300.0, 240.0, 90.0)];
        let row = Row::of(256, &rounds);
        assert_eq!((row.engine_of_raw, row.server_of_raw), (0.7, 0.5));
        assert_eq!(row.engine.bytes_per_transition, Some(210.0));
        assert_eq!(row.engine.cpu_us_per_transition, None);
        let growth = growth(256, &rounds, &[trio(300.0, 105.0, 150.0)]);
        assert_eq!((growth.raw, growth.engine, growth.server), (1.0, 2.0, 1.0));
    }

    #[test]
    fn bars_say_what_was_missed() {
        let round = Quartet {
            raw: using(40.0),
            read: using(30.0),
            engine: using(80.0),
            server: using(147.0),
        };
        let row = Row::of(256, &[round]);
        assert_eq!((row.floor_us, row.server_of_floor), (Some(70.0), Some(2.1)));
        let measured = vec![row];
        let store =
            StoreReport { handoffs: 10, filled_per_second: 1.0, database_bytes: 1, measured };
        let age = Age { n_edits: 10, young_ms: 1.0, old_ms: 1.0, old_of_young: 1.0 };
        let idle = Idle { handoffs: 10, ready_ms: 250.0, resident_mib: Some(12.0) };
        let bars = bars(&[store], &[], &age, &idle);
        let told: Vec<_> = bars.iter().map(|bar| (bar.wanted.as_str(), bar.met)).collect();
        let expected = [
            ("at most 2×", false),
            ("at most 2.5×", true),
            ("at most 1.3×", true),
            ("at most 40 MiB", true),
            ("at most 200 ms", false),
        ];
        assert_eq!(told, expected);
    }
}
