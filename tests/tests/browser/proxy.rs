//! Real reverse proxies, with TLS, configured as `docs/WEB-DEPLOYMENT.md` says.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::PublicKeyData;
use sha2::{Digest, Sha256};
use shard_testkit::{Home, until};

/// What browsers call the daemon. They are told that it is this machine.
const HOST: &str = "shard.test";

/// How long a proxy may take until it listens.
const START: Duration = Duration::from_secs(15);

/// Which proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sort {
    Caddy,
    Nginx,
}

/// A certificate of its own for the proxy, and the place where browsers find it.
pub(crate) struct Front {
    port: u16,
    folder: PathBuf,
    /// Digest of the key, by which browsers know it.
    key: String,
}

/// A proxy that runs. It ends with the test.
pub(crate) struct Proxy(Child);

impl Front {
    pub(crate) fn new(home: &Home) -> Self {
        let folder = home.root().join("front");
        std::fs::create_dir_all(&folder).unwrap();
        let made = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
        std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        let key = Sha256::digest(made.signing_key.subject_public_key_info());
        // Taken anew by the proxy, which has to be told a port, as does the daemon before it.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        Self {
            port: free.local_addr().unwrap().port(),
            folder,
            key: STANDARD.encode(key),
        }
    }

    /// What stands in the browser's address bar.
    pub(crate) fn origin(&self) -> String {
        format!("https://{HOST}:{}", self.port)
    }

    /// The same where there is no proxy.
    pub(crate) fn plaintext_origin(&self) -> String {
        format!("http://{HOST}:{}", self.port)
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What the daemon is told that stands there itself.
    pub(crate) fn direct_flags(&self) -> Vec<String> {
        vec![
            "--web-host=0.0.0.0".to_owned(),
            format!("--public-host={HOST}:{}", self.port),
            format!("--allowed-origin={}", self.plaintext_origin()),
            "--allow-insecure-remote".to_owned(),
        ]
    }

    /// What the daemon is told.
    pub(crate) fn flags(&self) -> Vec<String> {
        vec![
            "--trust-proxy=loopback".to_owned(),
            format!("--public-host={HOST}:{}", self.port),
            format!("--allowed-origin={}", self.origin()),
        ]
    }

    /// What browsers are told: where the host is, and that its key is the right one.
    pub(crate) fn arguments(&self) -> Vec<String> {
        vec![
            format!("--host-resolver-rules=MAP {HOST} 127.0.0.1"),
            format!("--ignore-certificate-errors-spki-list={}", self.key),
        ]
    }

    /// Starts a proxy in front of the daemon at that port.
    pub(crate) async fn start(&self, sort: Sort, home: &Home, daemon: u16) -> Proxy {
        let (program, configuration) = match sort {
            Sort::Caddy => ("caddy", self.caddyfile(daemon)),
            Sort::Nginx => ("nginx", self.nginx_conf(daemon)),
        };
        let path = self.folder.join(program);
        std::fs::write(&path, configuration).unwrap();
        let output = std::fs::File::create(self.folder.join("output")).unwrap();
        let mut command = Command::new(find(program));
        match sort {
            Sort::Caddy => command
                .args(["run", "--adapter", "caddyfile", "--config"])
                .arg(&path),
            Sort::Nginx => command
                .arg("-p")
                .arg(&self.folder)
                .arg("-c")
                .arg(&path)
                .args(["-e", "stderr"]),
        };
        let child = command
            .env_clear()
            .envs(home.env())
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0)
            .spawn();
        let mut proxy =
            Proxy(child.unwrap_or_else(|error| panic!("cannot start {program}: {error}")));
        until(&format!("{program} listens"), START, || {
            let said = || std::fs::read_to_string(self.folder.join("output")).unwrap_or_default();
            let ended = proxy.0.try_wait().unwrap();
            assert!(ended.is_none(), "{program} ended: {}", said());
            std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        })
        .await;
        proxy
    }

    fn caddyfile(&self, daemon: u16) -> String {
        let folder = self.folder.display();
        format!(
            "{{
                admin off
                auto_https disable_redirects
                servers {{
                    protocols h1 h2
                }}
            }}
            {} {{
                bind 127.0.0.1
                tls {folder}/cert.pem {folder}/key.pem
                reverse_proxy 127.0.0.1:{daemon}
            }}
            ",
            self.origin()
        )
    }

    fn nginx_conf(&self, daemon: u16) -> String {
        let (port, folder) = (self.port, self.folder.display());
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/{name};"))
            .join(" ");
        format!(
            "daemon off;
            master_process off;
            pid {folder}/pid;
            error_log stderr;
            events {{}}
            http {{
                access_log off;
                {temporary}
                map $http_upgrade $connection_upgrade {{
                    default upgrade;
                    ''      '';
                }}
                server {{
                    listen 127.0.0.1:{port} ssl;
                    server_name {HOST};
                    ssl_certificate     {folder}/cert.pem;
                    ssl_certificate_key {folder}/key.pem;
                    location / {{
                        proxy_pass http://127.0.0.1:{daemon};
                        proxy_http_version 1.1;
                        proxy_set_header Host $http_host;
                        proxy_set_header X-Forwarded-Host $http_host;
                        proxy_set_header X-Forwarded-Proto $scheme;
                        proxy_set_header Upgrade $http_upgrade;
                        proxy_set_header Connection $connection_upgrade;
                        proxy_read_timeout 1h;
                    }}
                }}
            }}
            "
        )
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Where the program is: on the path, among what is for administrators, or where `cargo xtask test`
/// unpacks it.
fn find(program: &str) -> PathBuf {
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../proxies");
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&folders).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.extend(["usr/bin", "usr/sbin"].map(|folder| unpacked.join(folder)));
    let mut places = folders.iter().map(|folder| folder.join(program));
    places
        .find(|place| place.is_file())
        .unwrap_or_else(|| panic!("{program} is needed: `cargo xtask test` brings it, or says how"))
}
