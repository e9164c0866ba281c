//! What the scripted agent says for those who listen, in the languages of our own announcements.

/// One text in all languages.
#[derive(Debug)]
pub struct Words {
    pub en: &'static str,
    es: &'static str,
    de: &'static str,
    fr: &'static str,
    ja: &'static str,
    yo: &'static str,
}

pub const LANGUAGES: [&str; 6] = ["en", "es", "de", "fr", "ja", "yo"];

impl Words {
    pub fn all(&self) -> [(&'static str, &'static str); 6] {
        [
            ("en", self.en),
            ("es", self.es),
            ("de", self.de),
            ("fr", self.fr),
            ("ja", self.ja),
            ("yo", self.yo),
        ]
    }
}

pub const STARTED_BALANCE: Words = Words {
    en: "Scripted demo: an account balance. Nothing here is real.",
    es: "Demostración con guion: el saldo de una cuenta. Nada de esto es real.",
    de: "Vorführung nach Drehbuch: ein Kontostand. Nichts davon ist echt.",
    fr: "Démonstration scénarisée\u{a0}: le solde d’un compte. Rien ici n’est réel.",
    ja: "台本によるデモ：口座残高の確認。実際の処理は行われません。",
    yo: "Àpẹẹrẹ tí a ti kọ sílẹ̀: iye owó inú àkáǹtì. Kò sí ohun tí ó jẹ́ òótọ́ níbí.",
};

pub const STARTED_TRANSFER: Words = Words {
    en: "Scripted demo: a money transfer. Nothing here is real.",
    es: "Demostración con guion: una transferencia de dinero. Nada de esto es real.",
    de: "Vorführung nach Drehbuch: eine Überweisung. Nichts davon ist echt.",
    fr: "Démonstration scénarisée\u{a0}: un virement. Rien ici n’est réel.",
    ja: "台本によるデモ：送金。実際の処理は行われません。",
    yo: "Àpẹẹrẹ tí a ti kọ sílẹ̀: fífi owó ránṣẹ́. Kò sí ohun tí ó jẹ́ òótọ́ níbí.",
};

pub const STARTED_BOOKING: Words = Words {
    en: "Scripted demo: booking a table. Nothing here is real.",
    es: "Demostración con guion: la reserva de una mesa. Nada de esto es real.",
    de: "Vorführung nach Drehbuch: ein Tisch wird gebucht. Nichts davon ist echt.",
    fr: "Démonstration scénarisée\u{a0}: la réservation d’une table. Rien ici n’est réel.",
    ja: "台本によるデモ：席の予約。実際の処理は行われません。",
    yo: "Àpẹẹrẹ tí a ti kọ sílẹ̀: fífi tábìlì pamọ́. Kò sí ohun tí ó jẹ́ òótọ́ níbí.",
};

pub const STARTED_REPORT: Words = Words {
    en: "Scripted demo: a long report. Nothing here is real.",
    es: "Demostración con guion: un informe largo. Nada de esto es real.",
    de: "Vorführung nach Drehbuch: ein langer Bericht. Nichts davon ist echt.",
    fr: "Démonstration scénarisée\u{a0}: un long rapport. Rien ici n’est réel.",
    ja: "台本によるデモ：長いレポート。実際の内容ではありません。",
    yo: "Àpẹẹrẹ tí a ti kọ sílẹ̀: ìròyìn gígùn kan. Kò sí ohun tí ó jẹ́ òótọ́ níbí.",
};

pub const STARTED_FAILURE: Words = Words {
    en: "Scripted demo: something fails. Nothing here is real.",
    es: "Demostración con guion: algo falla. Nada de esto es real.",
    de: "Vorführung nach Drehbuch: etwas schlägt fehl. Nichts davon ist echt.",
    fr: "Démonstration scénarisée\u{a0}: quelque chose échoue. Rien ici n’est réel.",
    ja: "台本によるデモ：処理の失敗。実際の処理は行われません。",
    yo: "Àpẹẹrẹ tí a ti kọ sílẹ̀: nǹkan kan kùnà. Kò sí ohun tí ó jẹ́ òótọ́ níbí.",
};

pub const STARTED_PERSON: Words = Words {
    en: "Scripted demo: a handoff to a person. Nothing here is real.",
    es: "Demostración con guion: un traspaso a una persona. Nada de esto es real.",
    de: "Vorführung nach Drehbuch: die Übergabe an einen Menschen. Nichts davon ist echt.",
    fr: "Démonstration scénarisée\u{a0}: le passage à une personne. Rien ici n’est réel.",
    ja: "台本によるデモ：人の担当者への引き継ぎ。実際の処理は行われません。",
    yo: "Àpẹẹrẹ tí a ti kọ sílẹ̀: fífi ọ̀rọ̀ lé ènìyàn lọ́wọ́. Kò sí ohun tí ó jẹ́ òótọ́ níbí.",
};

pub const STARTED_OTHER: Words = Words {
    en: "Scripted demo. I answer from a script.",
    es: "Demostración con guion. Respondo según un guion.",
    de: "Vorführung nach Drehbuch. Ich antworte nach einem Drehbuch.",
    fr: "Démonstration scénarisée. Je réponds selon un scénario.",
    ja: "台本によるデモです。台本どおりに答えます。",
    yo: "Àpẹẹrẹ tí a ti kọ sílẹ̀. Ohun tí a ti kọ ni mo fi ń dáhùn.",
};

pub const THINKING: Words = Words {
    en: "Thinking.",
    es: "Pensando.",
    de: "Ich denke nach.",
    fr: "Je réfléchis.",
    ja: "考えています。",
    yo: "Mo ń ronú.",
};

pub const DECIDING: Words = Words {
    en: "Deciding what to do.",
    es: "Decidiendo qué hacer.",
    de: "Ich entscheide, was zu tun ist.",
    fr: "Je décide de la suite.",
    ja: "次の手順を判断しています。",
    yo: "Mo ń pinnu ohun tí ó kàn.",
};

pub const WRITING: Words = Words {
    en: "Writing the answer.",
    es: "Escribiendo la respuesta.",
    de: "Ich schreibe die Antwort.",
    fr: "J’écris la réponse.",
    ja: "回答を書いています。",
    yo: "Mo ń kọ ìdáhùn.",
};

pub const HANDING_OFF: Words = Words {
    en: "Handing over.",
    es: "Haciendo el traspaso.",
    de: "Ich übergebe.",
    fr: "Je passe le relais.",
    ja: "引き継いでいます。",
    yo: "Mo ń fi ọ̀rọ̀ lé ẹlòmíràn lọ́wọ́.",
};

pub const DECLINED: Words = Words {
    en: "The answer was no. Nothing was transferred.",
    es: "La respuesta fue no. No se ha transferido nada.",
    de: "Die Antwort war Nein. Es wurde nichts überwiesen.",
    fr: "La réponse a été non. Rien n’a été viré.",
    ja: "回答は「いいえ」でした。送金していません。",
    yo: "Ìdáhùn náà ni rárá. A kò fi owó kankan ránṣẹ́.",
};

pub const NO_ANSWER: Words = Words {
    en: "Nobody answered in time. Nothing was done.",
    es: "Nadie respondió a tiempo. No se ha hecho nada.",
    de: "Niemand hat rechtzeitig geantwortet. Es wurde nichts getan.",
    fr: "Personne n’a répondu à temps. Rien n’a été fait.",
    ja: "時間内に回答がありませんでした。何も実行していません。",
    yo: "Ẹnikẹ́ni kò dáhùn lákòókò. A kò ṣe ohunkóhun.",
};

pub const CHECKING_BALANCE: Words = Words {
    en: "Checking the account balance.",
    es: "Consultando el saldo de la cuenta.",
    de: "Ich sehe nach dem Kontostand.",
    fr: "Je consulte le solde du compte.",
    ja: "口座残高を確認しています。",
    yo: "Mo ń wo iye owó inú àkáǹtì.",
};

pub const BALANCE_KNOWN: Words = Words {
    en: "The balance is 12,500 dollars.",
    es: "El saldo es de 12 500 dólares.",
    de: "Der Kontostand beträgt 12 500 Dollar.",
    fr: "Le solde est de 12 500 dollars.",
    ja: "残高は12,500ドルです。",
    yo: "Iye owó inú àkáǹtì ni dọ́là 12,500.",
};

pub const ASK_TRANSFER: Words = Words {
    en: "Transfer 500 dollars to the savings account? This cannot be undone.",
    es: "¿Transferir 500 dólares a la cuenta de ahorros? No se puede deshacer.",
    de: "500 Dollar auf das Sparkonto überweisen? Das lässt sich nicht rückgängig machen.",
    fr: "Virer 500 dollars sur le compte d’épargne\u{a0}? Cela ne peut pas être annulé.",
    ja: "貯蓄用口座に500ドルを送金しますか。取り消すことはできません。",
    yo: "Ṣé kí n fi dọ́là 500 ránṣẹ́ sí àkáǹtì ìfowópamọ́? A kò lè yí i padà.",
};

pub const TRANSFERRING: Words = Words {
    en: "Transferring 500 dollars.",
    es: "Transfiriendo 500 dólares.",
    de: "500 Dollar werden überwiesen.",
    fr: "Virement de 500 dollars en cours.",
    ja: "500ドルを送金しています。",
    yo: "Mo ń fi dọ́là 500 ránṣẹ́.",
};

pub const TRANSFERRED: Words = Words {
    en: "500 dollars were transferred.",
    es: "Se han transferido 500 dólares.",
    de: "500 Dollar wurden überwiesen.",
    fr: "500 dollars ont été virés.",
    ja: "500ドルを送金しました。",
    yo: "A ti fi dọ́là 500 ránṣẹ́.",
};

pub const SEARCHING: Words = Words {
    en: "Looking for free tables.",
    es: "Buscando mesas libres.",
    de: "Ich suche freie Tische.",
    fr: "Je cherche des tables libres.",
    ja: "空席を探しています。",
    yo: "Mo ń wá tábìlì tí ó ṣófo.",
};

pub const FOUND: Words = Words {
    en: "There are free tables.",
    es: "Hay mesas libres.",
    de: "Es gibt freie Tische.",
    fr: "Il y a des tables libres.",
    ja: "空席があります。",
    yo: "Tábìlì tí ó ṣófo wà.",
};

pub const ASK_TIME: Words = Words {
    en: "For which time should the table be booked?",
    es: "¿Para qué hora se reserva la mesa?",
    de: "Für welche Zeit soll der Tisch gebucht werden?",
    fr: "Pour quelle heure faut-il réserver la table\u{a0}?",
    ja: "何時に席を予約しますか。",
    yo: "Àkókò wo ni kí a fi tábìlì náà pamọ́ fún?",
};

pub const BOOKING: Words = Words {
    en: "Booking the table.",
    es: "Reservando la mesa.",
    de: "Der Tisch wird gebucht.",
    fr: "Réservation de la table en cours.",
    ja: "席を予約しています。",
    yo: "Mo ń fi tábìlì náà pamọ́.",
};

pub const BOOKED: Words = Words {
    en: "The table is booked.",
    es: "La mesa está reservada.",
    de: "Der Tisch ist gebucht.",
    fr: "La table est réservée.",
    ja: "席を予約しました。",
    yo: "A ti fi tábìlì náà pamọ́.",
};

pub const GATHERING: Words = Words {
    en: "Gathering the figures.",
    es: "Reuniendo las cifras.",
    de: "Ich sammle die Zahlen.",
    fr: "Je rassemble les chiffres.",
    ja: "数値を集めています。",
    yo: "Mo ń kó àwọn iye jọ.",
};

pub const COMPARING: Words = Words {
    en: "Comparing them with last year.",
    es: "Comparando con el año pasado.",
    de: "Ich vergleiche sie mit dem Vorjahr.",
    fr: "Je les compare à l’an dernier.",
    ja: "前年と比較しています。",
    yo: "Mo ń fi wọ́n wé ti ọdún tó kọjá.",
};

pub const CHECKING: Words = Words {
    en: "Checking the result.",
    es: "Comprobando el resultado.",
    de: "Ich prüfe das Ergebnis.",
    fr: "Je vérifie le résultat.",
    ja: "結果を確認しています。",
    yo: "Mo ń yẹ àbájáde náà wò.",
};

pub const READY: Words = Words {
    en: "The report is ready to be written.",
    es: "El informe está listo para escribirse.",
    de: "Der Bericht kann geschrieben werden.",
    fr: "Le rapport est prêt à être rédigé.",
    ja: "レポートを書く準備ができました。",
    yo: "Ìròyìn náà ti ṣetán fún kíkọ.",
};

pub const ASKING_SERVICE: Words = Words {
    en: "Asking the weather service.",
    es: "Preguntando al servicio meteorológico.",
    de: "Ich frage den Wetterdienst.",
    fr: "J’interroge le service météo.",
    ja: "気象サービスに問い合わせています。",
    yo: "Mo ń béèrè lọ́wọ́ ilé iṣẹ́ ojú ọjọ́.",
};

pub const SERVICE_SILENT: Words = Words {
    en: "The weather service does not answer.",
    es: "El servicio meteorológico no responde.",
    de: "Der Wetterdienst antwortet nicht.",
    fr: "Le service météo ne répond pas.",
    ja: "気象サービスが応答しません。",
    yo: "Ilé iṣẹ́ ojú ọjọ́ kò dáhùn.",
};

pub const STOPPED: Words = Words {
    en: "I had to stop, because the weather service does not answer. Please try again later.",
    es: "He tenido que parar porque el servicio meteorológico no responde. Inténtelo más tarde.",
    de: "Ich musste aufhören, weil der Wetterdienst nicht antwortet. Bitte später noch einmal.",
    fr: "J’ai dû m’arrêter car le service météo ne répond pas. Veuillez réessayer plus tard.",
    ja: "気象サービスが応答しないため停止しました。後でもう一度お試しください。",
    yo: "Mo ní láti dúró, nítorí ilé iṣẹ́ ojú ọjọ́ kò dáhùn. Ẹ jọ̀wọ́ ẹ tún gbìyànjú nígbà míràn.",
};

pub const TO_A_PERSON: Words = Words {
    en: "A person was asked for. A real agent would hand over to the support team here.",
    es: "Se ha pedido una persona. Un agente real haría aquí el traspaso al equipo de atención.",
    de: "Ein Mensch wurde verlangt. Ein echter Agent würde hier an das Support-Team übergeben.",
    fr: "Une personne a été demandée. Un vrai agent passerait ici le relais à l’assistance.",
    ja: "人の担当者への依頼がありました。実際のエージェントなら、ここで引き継ぎます。",
    yo: "A béèrè fún ènìyàn. Aṣojú gidi yóò fi èyí lé ẹgbẹ́ olùrànlọ́wọ́ lọ́wọ́ níbí.",
};

pub const DONE: Words = Words {
    en: "Done.",
    es: "Terminado.",
    de: "Fertig.",
    fr: "Terminé.",
    ja: "完了しました。",
    yo: "Ó ti parí.",
};

pub const HANDED_OVER: Words = Words {
    en: "The demo is over. Nobody was called.",
    es: "La demostración ha terminado. No se ha llamado a nadie.",
    de: "Die Vorführung ist zu Ende. Es wurde niemand gerufen.",
    fr: "La démonstration est terminée. Personne n’a été appelé.",
    ja: "デモは終了しました。誰も呼び出していません。",
    yo: "Àpẹẹrẹ náà ti parí. A kò pe ẹnikẹ́ni.",
};

pub const ENDED_BY_SERVER: Words = Words {
    en: "The server was stopped, and this ended before it was done.",
    es: "El servidor se detuvo y esto terminó antes de tiempo.",
    de: "Der Server wurde angehalten, und dies endete, bevor es fertig war.",
    fr: "Le serveur a été arrêté, et ceci s’est terminé avant la fin.",
    ja: "サーバーが停止したため、完了する前に終了しました。",
    yo: "A dá ẹ̀rọ náà dúró, èyí sì parí kí ó tó ṣe tán.",
};
