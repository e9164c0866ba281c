//! Where settings come from, and what is refused.

use super::*;

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn the_documented_file_is_the_default() {
    let text = include_str!("../../../../config.default.toml");
    let documented: Config = text.parse::<Table>().unwrap().try_into().unwrap();
    assert_eq!(documented, Config::default());
}

#[test]
fn environment_beats_file_beats_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasuki.toml");
    std::fs::write(&file, "listen = '0.0.0.0:1'\n[limits]\nstreams = 5\n").unwrap();
    let given = environment(&[("TASUKI_LIMITS_STREAMS", "7"), ("HOME", "/root")]);
    let config = Config::load(Some(&file), given).unwrap();
    assert_eq!((config.listen.as_str(), config.limits.streams), ("0.0.0.0:1", 7));
}

#[test]
fn traces_go_to_the_collectors_standard_path() {
    for endpoint in ["http://c:4318", "http://c:4318/", "http://c:4318/v1/traces"] {
        let telemetry = Telemetry { otlp_endpoint: endpoint.to_owned(), ..Telemetry::default() };
        let url = telemetry.traces_url().unwrap().unwrap();
        assert_eq!(url, "http://c:4318/v1/traces", "{endpoint}");
    }
    assert_eq!(Telemetry::default().traces_url().unwrap(), None);
}

#[test]
fn unknown_and_mistyped_settings_are_errors_that_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasuki.toml");
    let cases = [
        ("lisen = 'x'", "lisen: no such setting"),
        ("[limits]\nstream = 1", "limits.stream: no such setting"),
        ("[limits]\nstreams = 'many'", "limits.streams: expected a integer"),
        ("[limits]\nping_ms = 0", "limits.ping_ms: expected more than 0"),
        ("[limits]\nconnections = 0", "limits.connections: expected more than 0"),
        ("[log]\nlevel = 'loud'", "log.level: `loud` is no level"),
        ("[log]\nlevel = 'info,loud'", "log.level: `loud` is no level"),
        ("[tls]\ncert = 'a.pem'", "expected both `cert` and `key`"),
        ("[telemetry]\notlp_endpoint = 'collector'", "telemetry.otlp_endpoint: expected a URL"),
        ("[telemetry]\notlp_endpoint = 'http://me:pw@c'", "telemetry.otlp_endpoint: expected"),
        ("[telemetry]\notlp_endpoint = 'http://c?a=b'", "telemetry.otlp_endpoint: expected"),
        ("[telemetry]\notlp_endpoint = 'grpc://c:4317'", "expected http:// or https://"),
        ("[telemetry]\notlp_endpoint = 'https://c'", "telemetry.ca_cert: https needs"),
    ];
    for (text, expected) in cases {
        std::fs::write(&file, text).unwrap();
        let error = Config::load(Some(&file), []).unwrap_err();
        assert!(format!("{error:#}").contains(expected), "{text}: {error:#}");
    }
    for (name, value) in [("TASUKI_LISTN", "x"), ("TASUKI_LIMITS_STREAMS", "x")] {
        let error = Config::load(None, environment(&[(name, value)])).unwrap_err();
        assert!(format!("{error:#}").contains(name), "{error:#}");
    }
}

proptest::proptest! {
    /// The fuzz target of the settings: any input is used or refused.
    #[test]
    fn any_settings_are_answered(
        name in "(DATA|LISTEN|TRUSTED_PROXIES|LOG_LEVEL|LIMITS_STREAMS|[A-Z_]{0,9})",
        value in "\\PC{0,40}",
        text in "(\\[(log|tls|limits|aaep|x)\\]\n|\
                  (data|listen|level|streams|ping_ms|y) = ['\"]?[a-z0-9]{0,5}['\"]?\n)\
                 {0,5}",
    ) {
        let variable = format!("TASUKI_{name}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE_NAME);
        std::fs::write(&file, &text).unwrap();
        let in_environment = Config::load(None, [(variable.clone(), value)]);
        let in_file = Config::load(Some(&file), []);
        // The error names the place of the setting.
        let setting = name.to_lowercase().replacen('_', ".", 1);
        let path = file.display().to_string();
        for (loaded, places) in [
            (in_environment, [variable.as_str(), &setting]),
            (in_file, [&path, ": expected"]),
        ] {
            if let Err(error) = loaded {
                let said = format!("{error:#}");
                let is_named = places.iter().any(|place| said.contains(place));
                assert!(is_named || said.contains("is no level"), "{said}");
            }
        }
    }
}
