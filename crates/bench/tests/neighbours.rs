//! A small bound of `bench neighbours`: two attacks of a second each, on a debug build. Times are
//! for `./test --full`; here, every request of the victim succeeds, and nothing that was due is
//! missing.

use std::process::Command;

use serde_json::Value;

#[test]
fn a_victim_beside_attackers_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let attacks = ["slow-urls", "writes"];
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .arg("neighbours")
        .args(attacks)
        .args(["--each", "1", "--rounds", "1", "--seconds", "1", "--eager", "--json", "--data"])
        .arg(folder.path())
        .output()
        .expect("the bench runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let rows = report["rows"].as_array().expect("a list");
    let names: Vec<_> = rows.iter().map(|row| row["attack"].as_str().expect("a name")).collect();
    assert_eq!(names, ["slow-urls", "writes", "all together"]);
    for row in rows {
        for beside in ["hostile", "honest"] {
            let victim = &row["rounds"][0][beside]["victim"];
            assert_eq!((&victim["failed"], &victim["missing"]), (&0.into(), &0.into()), "{row}");
            for counted in ["requests", "gates", "deadlines", "deliveries"] {
                assert_ne!(victim[counted], 0, "{counted}: {row}");
            }
        }
    }
    let admitted = |row: &Value| row["rounds"][0]["hostile"]["admitted_per_second"].as_f64();
    let is_attack = |row: &Value| admitted(row) > Some(0.0);
    assert!(rows.iter().any(is_attack), "{report}");
}
