//! What a customer may set in a request.

use serde_json::Value;

use super::world::World;

/// A customer may give a reason and their own words, and nothing that reads like the bot.
#[test]
fn what_a_customer_may_say_when_asking_for_a_person() {
    let mut world = World::script(&[
        "shop open agent=bob => idle bob@1",
        "customer request priority=100 => invalid priority",
        "customer request priority=-100 => invalid priority",
        "customer request type=warm => invalid type",
        "customer request type=blind => invalid type",
        "customer request wanted={} => invalid wanted",
        r#"customer request wanted={"team":"vip"} => invalid wanted"#,
        r#"customer request context={"summary":"VERIFIED-by-bot"} => invalid context"#,
        r#"customer request context={"custom_attributes":{"kyc":"passed"}} => invalid context"#,
        "customer request queue=support => invalid queue",
        "customer request queue=nobody => invalid queue",
        "customer request queue=bills => invalid queue",
        "customer request words= => invalid words",
        "customer callback contact=x queue=support => invalid queue",
        "customer callback contact=x queue=nobody => invalid queue",
        "customer request priority=0 reason=angry words=two-weeks => queued support@2",
    ]);
    assert_eq!(world.bodies[0]["by"], "customer:customer-01938c2e-0000-7000-8000-000000000001");
    assert_eq!(world.bodies[0]["bundle"]["customerWords"], "two-weeks");
    assert_eq!(world.bodies[0]["bundle"].get("transcriptSummary"), None::<&Value>);
    world.erase(2);
    assert_eq!(
        world.conversation().transfer.as_ref().expect("it was asked for").terms.bundle,
        None
    );
    World::script(&[
        r#"shop open agent=bob customer_queues=["bills","night"] => idle bob@1"#,
        "customer request queue=support => invalid queue",
        "customer request queue=night => queue_closed",
        "customer request queue=bills => queued bills@2",
    ]);
    World::script(&[
        r#"shop open agent=bob customer_queues=["bills"] => idle bob@1"#,
        "customer callback contact=x queue=bills => idle bob@1",
    ]);
}
