//! More events than a listener can take: nothing is lost, and critical events come at once.

use super::*;

/// 10,000 events at once: five sessions stream text, make progress, change state and call tools;
/// every 200th event is critical.
fn burst(n_events: usize) -> Producer {
    let mut from = Producer::default();
    let states = ["idle", "thinking", "writing_output"];
    for n in 0..n_events {
        let session = &format!("sess_{}", n % 5);
        match n % 200 {
            199 => from.critical(session),
            100 => from.tool(session),
            k if k % 10 == 7 => from.progress(session, (n / 10 % 100) as u32),
            k if k % 10 == 8 => from.state(session, states[n % 3], states[(n + 1) % 3]),
            _ => from.say(
                session,
                &format!("out_{}", n / 5 % 3),
                ["Hé", "llo ", "世界。", "Go. "][n % 4],
            ),
        }
    }
    for n in 0..5 {
        from.event(&format!("sess_{n}"), "session.completed", json!({"summary_normal": "Done."}));
    }
    from
}

#[test]
fn a_burst_reaches_a_slow_listener_whole_and_the_critical_events_at_once() {
    let from = burst(10_000);
    let terms = honored(json!({"max_events_per_second": 1}));
    let mut driver = Driver::new(&from, &terms, Cursor::default());
    let mut listener = Listener::default();

    let mut critical = Vec::new();
    driver.read(from.events.len(), at(0));
    while let Some(delivery) = driver.shaper.poll(at(0)) {
        listener.hear(&delivery, &terms, &from, at(0));
        if delivery.is_critical {
            critical.push(delivery.cursor);
        }
        driver.read(from.events.len(), at(0));
    }
    assert_eq!(critical.len(), 50, "at once, though nothing else was let through but one");
    assert!(critical.is_sorted());
    assert_eq!(listener.n_deliveries, 51);

    driver.drain(&mut listener, at(0));
    listener.check_all(&from, &terms);
    listener.check_rate(1);
    assert_eq!(listener.n_critical, 50);
    assert_eq!(listener.n_events, from.events.len());
    assert!(listener.n_deliveries < 1_000, "{} deliveries", listener.n_deliveries);
    assert_eq!(driver.shaper.watermark(), from.events.last().unwrap().1);
    assert_eq!((driver.shaper.n_held(), driver.shaper.n_bytes()), (0, 0));
}

#[test]
fn a_listener_who_does_not_read_costs_no_more_and_gets_everything_later() {
    let from = burst(20_000);
    for terms in [
        json!({"coalesce_boundaries": ["none"], "event_filters": {"include": ["*"]}}),
        json!({"max_events_per_second": 100}),
        json!({"coalesce_boundaries": ["completion"]}),
    ] {
        let terms = honored(terms);
        let mut driver = Driver::new(&from, &terms, Cursor::default());
        driver.read(from.events.len(), at(0));
        assert!(!driver.shaper.wants_more());
        assert!(driver.shaper.n_bytes() <= HELD_BYTES_MAX + crate::EVENT_BYTES_MAX);
        let mut listener = Listener::default();
        for _ in 0..100 {
            assert!(driver.poll(&mut listener, at(60_000)));
        }
        assert_eq!(listener.n_critical, 100, "they were found far beyond what is held");
        driver.drain(&mut listener, at(60_000));
        listener.check_all(&from, &terms);
        assert_eq!(listener.n_events, from.events.len());
    }
}

#[test]
fn an_event_that_nothing_changes_is_shared() {
    let from = burst(1_000);
    let terms = honored(json!({
        "coalesce_boundaries": ["none"], "event_filters": {"include": ["*"]},
    }));
    let mut shaper = Shaper::new(&terms, Cursor::default());
    for (event, cursor) in &from.events {
        shaper.push(event, *cursor, at(0));
        let delivery = shaper.poll(at(0)).expect("it comes as it was sent");
        assert!(matches!(&delivery.body, Body::Verbatim(same) if Arc::ptr_eq(same, event)));
        assert_eq!(delivery.id.as_deref(), Some(&*event.event_id));
        assert_eq!(shaper.watermark(), *cursor);
        assert_eq!(shaper.next_at(at(0)), None);
    }
}

#[test]
fn a_long_text_goes_out_in_as_few_events_as_hold_it() {
    let mut from = Producer::default();
    from.say("sess_1", "out_1", "First. ");
    from.say("sess_1", "out_1", &"A sentence of twenty-nine. No".repeat(400));
    for _ in 0..30 {
        from.say("sess_1", "out_1", &" end. And so it goes on, 予約しました。 to".repeat(100));
        from.progress("sess_1", 1);
    }
    from.chunk("sess_1", "out_1", "", json!({"complete": true}));
    let terms = honored(json!({"max_events_per_second": 1, "coalesce_boundaries": ["sentence"]}));
    let mut driver = Driver::new(&from, &terms, Cursor::default());
    let mut listener = Listener::default();
    driver.drain(&mut listener, at(0));
    listener.check_all(&from, &terms);
    let n_chars = from.texts.values().map(|text| text.chars().count()).sum::<usize>();
    let fewest = n_chars.div_ceil(CHUNK_CHARS_MAX as usize);
    // The first comes at once, and progress once at the end.
    assert!(listener.n_deliveries <= fewest + 4, "{} for {fewest}", listener.n_deliveries);
}

#[test]
fn what_a_scout_passed_over_is_told_in_its_turn() {
    let mut from = Producer::default();
    from.critical("sess_1");
    from.critical("sess_2");
    let terms = honored(json!({}));
    let mut shaper = Shaper::new(&terms, Cursor::default());
    let [(first, at_first), (second, at_second)] = &from.events[..] else { panic!("two events") };
    shaper.push_critical(second, *at_second);
    let told = |delivery: Option<Delivery>| delivery.map(|delivery| delivery.cursor);
    assert_eq!(told(shaper.poll(at(0))), Some(*at_second));
    shaper.push(first, *at_first, at(0));
    assert_eq!(told(shaper.poll(at(0))), Some(*at_first), "though a later one was told before");
    shaper.push(second, *at_second, at(0));
    assert_eq!(told(shaper.poll(at(0))), None, "and that one is not told twice");
}
