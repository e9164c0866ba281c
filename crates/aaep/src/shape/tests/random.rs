//! Random terms, random streams, random times to poll: the invariants hold.

use proptest::prelude::*;

use super::*;

const TEXTS: [&str; 14] = [
    "Hello",
    " ",
    "world. ",
    "Is it? ",
    "3.",
    "14 ",
    "\n\n",
    "予約しました。",
    "ホテル",
    "",
    "e\u{301}",
    "👩‍👩‍👧",
    "हाँ। ",
    "نعم؟ ",
];

/// One step: the event, its session, and the time before it.
#[derive(Debug, Clone)]
struct Step {
    what: u8,
    session: u8,
    detail: u8,
    gap_ms: i64,
    n_polls: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![4 => Just(0i64), 2 => 0..50i64, 1 => 0..5_000i64];
    let step = (0..14u8, 0..3u8, any::<u8>(), gap, 0..3usize).prop_map(
        |(what, session, detail, gap_ms, n_polls)| Step { what, session, detail, gap_ms, n_polls },
    );
    proptest::collection::vec(step, 1..120)
}

fn terms() -> impl Strategy<Value = Capabilities> {
    let filters = [
        json!({}),
        json!({"include": ["*"]}),
        json!({"exclude": ["aaep:agent.tool.*"]}),
        json!({"include": ["*"], "exclude": ["aaep:agent.progress.updated", "x:*"]}),
    ];
    (
        proptest::option::of(prop_oneof![Just(1u32), Just(3), Just(20), Just(500), Just(100_000)]),
        proptest::option::of(proptest::sample::subsequence(Boundary::ALL, 1..=5)),
        proptest::sample::select(filters.to_vec()),
        proptest::bool::weighted(0.3),
        proptest::option::weighted(0.3, prop_oneof![Just(50u16), Just(300)]),
    )
        .prop_map(|(rate, boundaries, filters, is_low, pace)| {
            let mut document = json!({"event_filters": filters});
            if let Some(rate) = rate {
                document["max_events_per_second"] = rate.into();
            }
            if let Some(boundaries) = boundaries {
                document["coalesce_boundaries"] = serde_json::to_value(boundaries).unwrap();
            }
            if is_low {
                document["cognitive_load"] = "low".into();
            }
            if let Some(pace) = pace {
                document["pace_wpm"] = pace.into();
            }
            honored(document)
        })
}

fn produce(steps: &[Step]) -> Producer {
    let mut from = Producer::default();
    let mut n_outputs = [0; 3];
    for step in steps {
        let session = &format!("sess_{}", step.session);
        let n = n_outputs[step.session as usize];
        let output = &format!("out_{}", n + step.detail as usize % 2);
        let text = TEXTS[step.detail as usize % TEXTS.len()];
        match step.what {
            0..=5 => from.say(session, output, text),
            6 => {
                let hint = Boundary::ALL[step.detail as usize % 5].as_str();
                from.chunk(
                    session,
                    output,
                    text,
                    json!({"complete": false, "coalesce_hint": hint}),
                );
            }
            7 => {
                let long = text.repeat(900);
                from.say(session, output, &long);
            }
            8 => {
                from.chunk(session, &format!("out_{n}"), text, json!({"complete": true}));
                n_outputs[step.session as usize] += 1;
            }
            9 => from.progress(session, u32::from(step.detail) % 101),
            10 => from.state(session, "thinking", "deciding"),
            11 => from.tool(session),
            12 => from.critical(session),
            _ => from.event(session, "x:alert", json!({"summary_normal": "An alert."})),
        }
    }
    for n in 0..3 {
        from.event(&format!("sess_{n}"), "session.completed", json!({"summary_normal": "Done."}));
    }
    from
}

/// Everything at or before the watermark was delivered.
fn check_watermark(driver: &Driver<'_>, listener: &Listener) {
    let filters = driver.terms.event_filters.clone().unwrap_or_default();
    let watermark = driver.shaper.watermark();
    for (event, cursor) in &driver.from.events {
        let passes = event.is_critical || filters.pass(event.name());
        let is_heard = listener.heard.contains(&*event.event_id);
        assert!(*cursor > watermark || !passes || is_heard, "{watermark:?} {}", event.text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_disordered_or_too_fast(
        steps in steps(),
        terms in terms(),
        resume_at in 0..120usize,
    ) {
        let from = produce(&steps);
        let mut driver = Driver::new(&from, &terms, Cursor::default());
        let mut listener = Listener::default();
        let mut now = at(0);
        let mut resume = None;
        for (n, step) in steps.iter().enumerate() {
            now = now.plus(Span::from_millis(step.gap_ms));
            driver.read(n + 1, now);
            let is_critical = from.events[n].0.is_critical;
            for _ in 0..step.n_polls {
                driver.poll(&mut listener, now);
                check_watermark(&driver, &listener);
            }
            // At once: at the same time, after only the events that lead up to it.
            let event_id = &*from.events[n].0.event_id;
            let mut n_before = 0;
            while is_critical && !listener.heard.contains(event_id) {
                prop_assert!(n_before <= LEADING_EVENTS_MAX, "it waits for others");
                prop_assert!(driver.poll(&mut listener, now), "it waits for a later moment");
                check_watermark(&driver, &listener);
                n_before += 1;
            }
            if n == resume_at {
                resume = Some((driver.shaper.watermark(), listener.heard.clone()));
            }
        }
        let end = driver.drain(&mut listener, now);
        check_watermark(&driver, &listener);
        listener.check_all(&from, &terms);
        if let Some(rate) = terms.max_events_per_second {
            listener.check_rate(rate);
        }
        prop_assert_eq!((driver.shaper.n_held(), driver.shaper.n_bytes()), (0, 0));

        // A listener that reconnects gets the rest.
        let Some((watermark, heard)) = resume else { return Ok(()) };
        let mut again = Driver::new(&from, &terms, watermark);
        let mut texts = Listener { heard, texts: listener.texts.clone(), ..Listener::default() };
        again.drain(&mut texts, end);
        texts.check_all(&from, &terms);
    }
}
