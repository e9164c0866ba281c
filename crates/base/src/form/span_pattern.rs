//! The spans between two ends as a regular expression, so that readers of a schema who do not know
//! our keywords send spans that are taken.

use crate::time::Span;

/// The units of a span in milliseconds, and the digits that a number of them may have.
const UNITS: [(&str, u64, usize); 5] = [
    ("ms", 1, 15),
    ("s", 1_000, 10),
    ("m", 60_000, 10),
    ("h", 3_600_000, 10),
    ("d", 86_400_000, 10),
];

/// Without `max`, up to as many digits as a span may have.
pub fn between(min: Span, max: Option<Span>) -> String {
    let millis = |span: Span| span.as_millis().max(0).unsigned_abs();
    let forms = UNITS.iter().filter_map(|(unit, unit_millis, n_digits)| {
        let low = millis(min).div_ceil(*unit_millis);
        let high = max.map_or(u64::MAX, |max| millis(max) / unit_millis);
        let high = high.min(10u64.pow(u32::try_from(*n_digits).ok()?) - 1);
        (low <= high).then(|| format!("({}){unit}", numbers(low, high)))
    });
    format!("^0*({})$", forms.collect::<Vec<_>>().join("|"))
}

/// The numbers from `low` to `high`, without leading zeros.
fn numbers(low: u64, high: u64) -> String {
    let mut forms = Vec::new();
    let mut from = low;
    loop {
        let to = (10u64.pow(from.max(1).ilog10() + 1) - 1).min(high);
        forms.push(of_same_length(from.to_string().as_bytes(), to.to_string().as_bytes()));
        if to == high {
            return forms.join("|");
        }
        from = to + 1;
    }
}

fn of_same_length(low: &[u8], high: &[u8]) -> String {
    let ([first, low_rest @ ..], [last, high_rest @ ..]) = (low, high) else {
        return String::new();
    };
    let any = |first: u8, last: u8| {
        let n_rest = low_rest.len();
        let digit = format!("[{}-{}]", char::from(first), char::from(last));
        if n_rest == 0 { digit } else { format!("{digit}[0-9]{{{n_rest}}}") }
    };
    let then = |digit: u8, low: &[u8], high: &[u8]| {
        format!("{}{}", char::from(digit), of_same_length(low, high))
    };
    if low_rest.iter().all(|digit| *digit == b'0') && high_rest.iter().all(|digit| *digit == b'9') {
        return any(*first, *last);
    }
    if first == last {
        return then(*first, low_rest, high_rest);
    }
    let (zeros, nines) = (vec![b'0'; low_rest.len()], vec![b'9'; low_rest.len()]);
    let mut forms = vec![then(*first, low_rest, &nines)];
    if last - first > 1 {
        forms.push(any(first + 1, last - 1));
    }
    forms.push(then(*last, &zeros, high_rest));
    format!("({})", forms.join("|"))
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn exactly_the_spans_between_the_ends_match() {
        let ends = ["0ms", "1ms", "999ms", "1s", "25s", "61s", "10m", "8h", "168h", "365d"];
        let ends = ends.map(|text| text.parse::<Span>().unwrap());
        for (low, min) in ends.iter().enumerate() {
            for max in ends[low..].iter().map(|max| Some(*max)).chain([None]) {
                let pattern = Regex::new(&between(*min, max)).unwrap();
                for (unit, millis, _) in UNITS {
                    for number in tried(*min, millis).chain(tried(max.unwrap_or(*min), millis)) {
                        for text in [format!("{number}{unit}"), format!("00{number}{unit}")] {
                            let span: Span = text.parse().unwrap();
                            let fits = span >= *min && max.is_none_or(|max| span <= max);
                            assert_eq!(pattern.is_match(&text), fits, "{text} of {min:?} {max:?}");
                        }
                    }
                }
                for text in ["", "1", "s", "1x", "-1s", "1 s", "1s "] {
                    assert!(!pattern.is_match(text), "{text:?}");
                }
            }
        }
    }

    /// Numbers around an end, and of every length.
    fn tried(end: Span, unit_millis: u64) -> impl Iterator<Item = u64> {
        let at = end.as_millis().unsigned_abs() / unit_millis;
        let lengths = (0..9).flat_map(|n| [10u64.pow(n) - 1, 10u64.pow(n), 3 * 10u64.pow(n)]);
        (at.saturating_sub(12)..at + 12).chain(lengths)
    }
}
