//! Several people answer at once. One of them decides; the others are not told that they lost, and
//! hear how the session goes on.

use futures_util::future::join_all;

use super::{Asked, LONG, is_on_record, over_each_line};
use crate::aaep::lines::branch::Branch;
use crate::aaep::lines::peer::Road;
use crate::aaep::lines::teller::Decided;
use crate::aaep::lines::{Line, Stage};
use crate::aaep::story::Story;

#[tokio::test]
async fn of_two_who_answer_at_once_one_decides_and_both_hear_what_came_of_it() {
    let branch = Branch::open().await;
    let omar = branch.person("omar", "default");
    over_each_line(async |stage| {
        let mut omar = stage.person(&branch, &omar).await;
        let opening = stage.story.opening(LONG);
        let mut asked = Asked::open(&branch, stage, LONG).await;
        let asked_omar = omar.is_asked(&opening).await;
        let Asked { dana, question, .. } = &mut asked;
        tokio::join!(dana.answers(question, "accept"), omar.answers(&asked_omar, "reject"));
        let decided = asked.decision().await;
        let won = [Decided::by("dana", "accept"), Decided::by("omar", "reject")];
        assert!(won.contains(&decided), "{decided:?}");
        for _ in 0..3 {
            asked.answers("accept").await;
            omar.answers(&asked_omar, "reject").await;
        }
        assert_eq!(asked.decision().await, decided);
        omar.hears(&asked.goes_on(&decided).await).await;
        is_on_record(&branch, &asked.stage, &decided).await;
    })
    .await;
}

#[tokio::test]
async fn of_all_who_listen_over_all_lines_one_decides() {
    let branch = Branch::open().await;
    let omar = branch.person("omar", "default");
    let stage = |line| Stage { line, story: Story::new("sess_all") };
    let people = Line::ALL.map(|line| {
        let (branch, omar) = (&branch, &omar);
        async move { stage(line).person(branch, omar).await }
    });
    let mut people = join_all(people).await;
    let stage = stage(Line::Connection(Road::WebSocket));
    let opening = stage.story.opening(LONG);
    let mut asked = Asked::open(&branch, stage, LONG).await;
    let answers = people.iter_mut().zip(["accept", "reject"].into_iter().cycle());
    join_all(answers.map(async |(person, decision)| {
        let question = person.is_asked(&opening).await;
        for _ in 0..3 {
            person.answers(&question, decision).await;
        }
    }))
    .await;
    let decided = asked.decision().await;
    assert_eq!(decided.by.as_deref(), Some("omar"), "dana said nothing");
    let told = asked.goes_on(&decided).await;
    join_all(people.iter_mut().map(|person| person.hears(&told))).await;
    is_on_record(&branch, &asked.stage, &decided).await;
}
