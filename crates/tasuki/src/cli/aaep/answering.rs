//! Which question a typed line answers. Pure. A line answers a question that was open and shown
//! when its first character was typed, and that is still open. A yes to an irreversible action must
//! name the question.

#[cfg(test)]
mod tests;

use aaep::event::Decision;

use super::question::{Question, TypedAnswer};
use super::speech::{Speech, Text};
use crate::cli::typist::Questions;
use crate::cli::typist::keys::EditedLine;

/// Open questions. Beyond this the oldest is no longer offered here.
const QUESTIONS_MAX: usize = 1_024;

/// The questions that were asked here and are still open.
#[derive(Debug)]
pub struct OpenQuestion {
    /// The language in which questions are asked and decisions may be typed.
    speech: Speech,
    open: Vec<Question>,
    n_asked: usize,
}

/// Why a line is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAnswered {
    NothingWaits,
    /// Typing began before this question was shown.
    TypedBefore(usize),
    /// Its question is no longer open.
    Closed(usize),
    NoSuchQuestion,
    /// Several questions were shown, and the line names none of them.
    Several,
    /// The action is irreversible, and the line does not name the question.
    NotNamed(usize),
    /// Not an answer; says what would be one.
    Expected(String),
}

impl OpenQuestion {
    pub fn new(speech: Speech) -> Self {
        Self { speech, open: Vec::new(), n_asked: 0 }
    }

    /// Asks open questions in this language from now on.
    pub fn speak(&mut self, speech: Speech) {
        self.speech = speech;
        self.open.iter_mut().for_each(|question| question.speak(speech));
    }

    /// The number of the next question.
    pub fn next_number(&self) -> usize {
        self.n_asked + 1
    }

    pub fn add(&mut self, question: Question) {
        self.n_asked = self.n_asked.max(question.number);
        if self.open.len() >= QUESTIONS_MAX {
            self.open.remove(0);
        }
        self.open.push(question);
    }

    pub fn close(&mut self, number: usize) {
        self.open.retain(|question| question.number != number);
    }

    pub fn open(&self) -> &[Question] {
        &self.open
    }

    /// The questions that a line begun now may answer.
    pub fn numbers(&self) -> Questions {
        self.open.iter().map(|question| question.number).collect()
    }

    pub fn choose(
        &self,
        line: &EditedLine<Questions>,
    ) -> Result<(&Question, TypedAnswer), NotAnswered> {
        let EditedLine { text, began } = line;
        let text = text.trim();
        if let Some((number, rest)) = named(text) {
            let question = self.shown(number, began)?;
            let answer = match self.split(rest) {
                Some((_, more)) if question.is_confirmation() && !self.fits(question, more) => {
                    return Err(NotAnswered::NoSuchQuestion);
                }
                Some((word, _)) if question.is_confirmation() => word,
                Some(_) | None => rest,
            };
            return Ok((question, question.answer(answer).map_err(NotAnswered::Expected)?));
        }
        if let Some(question) = text.strip_prefix('#').and_then(|number| number.parse().ok())
            && let Ok(question) = self.shown(question, began)
        {
            // The number alone is the beginning of an answer.
            return Err(NotAnswered::Expected(question.answer("").err().unwrap_or_default()));
        }
        let (one, is_alone) = match (began.first(), self.open.first()) {
            (None, None) => return Err(NotAnswered::NothingWaits),
            (None, Some(question)) => return Err(NotAnswered::TypedBefore(question.number)),
            (Some(first), _) => (*first, began.len() == 1),
        };
        if let Some((word, more)) = self.split(text).filter(|(_, more)| !more.is_empty())
            && !(is_alone && self.shown(one, began).is_ok_and(|it| !it.is_confirmation()))
        {
            let (question, answer) = match self.meant(more, began) {
                Err(NotAnswered::NoSuchQuestion) if is_alone => (self.shown(one, began)?, text),
                meant => (meant?, word),
            };
            return Ok((question, question.answer(answer).map_err(NotAnswered::Expected)?));
        }
        if !is_alone {
            return Err(NotAnswered::Several);
        }
        let question = self.shown(one, began)?;
        let answer = question.answer(text).map_err(NotAnswered::Expected)?;
        if answer == TypedAnswer::Decision(Decision::Accept) && question.must_be_named() {
            return Err(NotAnswered::NotNamed(one));
        }
        Ok((question, answer))
    }

    /// A question that was shown when the line was begun, and is still open.
    fn shown(&self, number: usize, began: &Questions) -> Result<&Question, NotAnswered> {
        let open = self.open.iter().find(|question| question.number == number);
        match (open, began.contains(&number)) {
            (Some(question), true) => Ok(question),
            (Some(_), false) => Err(NotAnswered::TypedBefore(number)),
            (None, true) => Err(NotAnswered::Closed(number)),
            (None, false) => Err(NotAnswered::NoSuchQuestion),
        }
    }

    /// The one question that a number, or words from it, refer to.
    fn meant(&self, more: &str, began: &Questions) -> Result<&Question, NotAnswered> {
        if let Ok(number) = more.trim_start_matches('#').parse::<usize>() {
            return self.shown(number, began);
        }
        if let Some(gone) = began.iter().find(|number| self.shown(**number, began).is_err()) {
            // The words may refer to the closed question.
            return Err(NotAnswered::Closed(*gone));
        }
        let is_meant = |it: &&Question| began.contains(&it.number) && it.has_words(more);
        let mut meant = self.open.iter().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(question), None) => Ok(question),
            (Some(_), Some(_)) => Err(NotAnswered::Several),
            (None, _) => Err(NotAnswered::NoSuchQuestion),
        }
    }

    /// A decision, and the text after it.
    fn split<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let (word, more) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        self.speech.decision(word).is_some().then_some((word, more.trim()))
    }

    /// Whether the text after the decision means the same as the text before it.
    fn fits(&self, question: &Question, more: &str) -> bool {
        let number = more.trim_start_matches('#').parse::<usize>();
        more.is_empty() || number == Ok(question.number) || question.has_words(more)
    }
}

/// `#2 accept`.
fn named(text: &str) -> Option<(usize, &str)> {
    let (number, rest) = text.strip_prefix('#')?.split_once(char::is_whitespace)?;
    Some((number.parse().ok()?, rest.trim()))
}

impl NotAnswered {
    /// The reason, in lines. If the line names none of several questions, it also lists the open
    /// ones and how to answer each.
    pub fn said(&self, asked: &OpenQuestion) -> Vec<String> {
        let waits = asked.open.iter().filter(|_| *self == NotAnswered::Several);
        let first = std::iter::once(self.why(asked.speech));
        first.chain(waits.map(Question::waits)).collect()
    }

    fn why(&self, speech: Speech) -> String {
        let accept = speech.word(Text::Accept);
        let about = |text: Text, number: &usize| {
            speech.say(text, &[("number", &number.to_string()), ("accept", &accept)])
        };
        match self {
            NotAnswered::NothingWaits => speech.word(Text::NothingWaits),
            NotAnswered::TypedBefore(number) => about(Text::TypedBefore, number),
            NotAnswered::Closed(number) => about(Text::AnsweredNothing, number),
            NotAnswered::NoSuchQuestion => speech.word(Text::NoSuchQuestion),
            NotAnswered::Several => speech.word(Text::Several),
            NotAnswered::NotNamed(number) => about(Text::NotNamed, number),
            NotAnswered::Expected(expected) => expected.clone(),
        }
    }
}
