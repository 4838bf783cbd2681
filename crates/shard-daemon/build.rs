//! Makes sure that there is a web client to embed.
//!
//! The client is built by Node. Who builds only the daemon (or only its tests) need not have Node,
//! so an absent client becomes a page that says what is missing.

use std::path::Path;
use std::{fs, io};

const CLIENT: &str = "../../web/build";

const PLACEHOLDER: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Shard</title>
<p>This shard was built without its web client. Build it with <code>cargo xtask web</code>, then
build shard again.</p>
</html>
";

fn main() -> io::Result<()> {
    let index = Path::new(CLIENT).join("index.html");
    if !index.exists() {
        fs::create_dir_all(CLIENT)?;
        fs::write(index, PLACEHOLDER)?;
    }
    // The macro that embeds the folder does not make cargo watch it.
    println!("cargo::rerun-if-changed={CLIENT}");
    Ok(())
}
