//! A real Chromium, driven as WebDriver has it: pages, clicks, keys, pictures.

use std::fmt::Debug;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use shard_testkit::Home;

/// How long anything on a page may take to appear.
const PATIENCE: Duration = Duration::from_secs(15);

/// Without a window, without a sandbox that root cannot have, and without talking to anybody.
const ARGUMENTS: [&str; 10] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",
];

/// The program that drives browsers. It ends with everything that it started.
pub(crate) struct Chromium {
    driver: Child,
    address: String,
}

impl Chromium {
    /// Starts the driver in the home's environment, so that the home takes care of its browsers.
    pub(crate) fn start(home: &Home) -> Self {
        let hosted = std::env::var_os("CHROMEWEBDRIVER").map(PathBuf::from);
        let program = hosted.map_or_else(|| "chromedriver".into(), |it| it.join("chromedriver"));
        let mut driver = Command::new(program)
            .arg("--port=0")
            .envs(home.env())
            .current_dir(home.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("chromedriver is needed: `cargo xtask test` installs it, or says how");
        let output = BufReader::new(driver.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("chromedriver said on which port it listens");
        Self {
            driver,
            address: format!("http://127.0.0.1:{port}"),
        }
    }

    /// A browser of its own, with nothing of any other's storage.
    pub(crate) async fn browser(&self, width: u32, height: u32) -> Page {
        self.browser_with(width, height, &[]).await
    }

    /// The same, started with more arguments.
    pub(crate) async fn browser_with(&self, width: u32, height: u32, more: &[String]) -> Page {
        let arguments: Vec<&str> = ARGUMENTS
            .into_iter()
            .chain(more.iter().map(String::as_str))
            .collect();
        // Not by the size of the window: that has a least one, which is wider than a phone.
        let screen = json!({ "width": width, "height": height, "pixelRatio": 1, "mobile": false, "touch": false });
        let capabilities = json!({ "goog:chromeOptions": {
            "args": arguments, "mobileEmulation": { "deviceMetrics": screen },
        } });
        let Value::Object(capabilities) = capabilities else {
            unreachable!("it is written as an object");
        };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&self.address)
            .await;
        Page {
            client: client.expect("a browser starts"),
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let group = i32::try_from(self.driver.id()).ok();
        if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
            _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        _ = self.driver.wait();
    }
}

/// What a browser shows.
pub(crate) struct Page {
    client: Client,
}

/// The element that tests know by this name.
fn css(name: &str) -> String {
    format!("[data-testid=\"{name}\"]")
}

impl Page {
    pub(crate) async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    pub(crate) async fn reload(&self) {
        self.client.refresh().await.unwrap();
    }

    pub(crate) async fn address(&self) -> String {
        self.client.current_url().await.unwrap().to_string()
    }

    /// Waits for the element of this name.
    pub(crate) async fn find(&self, name: &str) -> Element {
        let css = css(name);
        let found = self.client.wait().at_most(PATIENCE);
        match found.for_element(Locator::Css(&css)).await {
            Ok(element) => element,
            Err(error) => panic!(
                "waited for {name} on the page: {error}\n{}",
                self.text().await
            ),
        }
    }

    pub(crate) async fn click(&self, name: &str) {
        self.until(&format!("{name} can be clicked"), async || {
            let found = self.client.find(Locator::Css(&css(name))).await;
            match found {
                Ok(element) => element.click().await.is_ok(),
                Err(_) => false,
            }
        })
        .await;
    }

    /// Types into the element of this name.
    pub(crate) async fn fill(&self, name: &str, text: &str) {
        self.find(name).await.send_keys(text).await.unwrap();
    }

    /// Types into whatever has the focus.
    pub(crate) async fn keys(&self, text: &str) {
        let focused = self.client.active_element().await.unwrap();
        focused.send_keys(text).await.unwrap();
    }

    /// The only cookie that the page has: its name, and whether it is for TLS alone, out of reach of
    /// scripts, and kept from requests of other sites.
    pub(crate) async fn cookie(&self) -> (String, [bool; 3]) {
        let cookies = self.client.get_all_cookies().await.unwrap();
        let [cookie] = &*cookies else {
            panic!("one cookie was expected: {cookies:?}");
        };
        let strict = cookie.same_site().is_some_and(|it| it.is_strict());
        let flags = [cookie.secure(), cookie.http_only(), Some(strict)];
        (
            cookie.name().to_owned(),
            flags.map(|flag| flag == Some(true)),
        )
    }

    /// How many elements of this name there are.
    pub(crate) async fn count(&self, name: &str) -> usize {
        let css = css(name);
        let found = self.client.find_all(Locator::Css(&css)).await;
        found.map_or(0, |found| found.len())
    }

    /// All that can be read on the page.
    pub(crate) async fn text(&self) -> String {
        self.script("return document.body.innerText").await
    }

    /// All that can be read in the elements of this name, in order.
    pub(crate) async fn texts(&self, name: &str) -> Vec<String> {
        let script = format!(
            "return JSON.stringify([...document.querySelectorAll({:?})].map(it => it.innerText.trim()))",
            css(name)
        );
        serde_json::from_str(&self.script(&script).await).unwrap()
    }

    /// What is in the field of this name.
    pub(crate) async fn value(&self, name: &str) -> String {
        let field = self.find(name).await;
        field.prop("value").await.unwrap().unwrap_or_default()
    }

    pub(crate) async fn script(&self, script: &str) -> String {
        match self.client.execute(script, Vec::new()).await {
            Ok(Value::String(text)) => text,
            Ok(other) => other.to_string(),
            Err(error) => format!("(the page cannot be read: {error})"),
        }
    }

    /// Waits until it is so.
    pub(crate) async fn until(&self, what: &str, mut so: impl AsyncFnMut() -> bool) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !so().await {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        });
        if waited.await.is_err() {
            panic!("waited until {what}\n{}", self.text().await);
        }
    }

    /// Waits until the page shows this text.
    pub(crate) async fn shows(&self, text: &str) {
        let what = format!("the page shows {text:?}");
        self.until(&what, async || self.text().await.contains(text))
            .await;
    }

    /// Waits until the elements of this name read so.
    pub(crate) async fn reads<T: AsRef<str> + Debug>(&self, name: &str, wanted: &[T]) {
        let what = format!("{name} reads {wanted:?}");
        self.until(&what, async || {
            let texts = self.texts(name).await;
            texts.len() == wanted.len()
                && texts
                    .iter()
                    .zip(wanted)
                    .all(|(is, wanted)| is.contains(wanted.as_ref()))
        })
        .await;
    }

    /// Waits until there is no element of this name.
    pub(crate) async fn gone(&self, name: &str) {
        self.until(&format!("{name} is gone"), async || {
            self.count(name).await == 0
        })
        .await;
    }

    /// Waits until the daemon is reached.
    pub(crate) async fn connected(&self) {
        self.reads("connection-state", &["connected"]).await;
    }

    /// Keeps a picture for people to look at, in `target/screenshots`.
    pub(crate) async fn picture(&self, name: &str) {
        let png = self.client.screenshot().await.unwrap();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), png).unwrap();
    }

    /// Whether the frame of this number has something of the client in it.
    pub(crate) async fn frame_has(&self, number: u16, name: &str) -> bool {
        self.client.enter_frame(number).await.unwrap();
        let has = self.count(name).await > 0;
        self.client.enter_parent_frame().await.unwrap();
        has
    }

    /// Ends the browser.
    pub(crate) async fn close(self) {
        self.client.close().await.unwrap();
    }
}
