//! What may stand between an agent and its model's server: TLS, and a proxy.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Where the certificates of these tests are. That of the server is for `models.example` and
/// `localhost`, signed by `authority.pem`, which no system trusts.
pub(crate) const CERTIFICATES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/connections/certificates"
);

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Both may hang up as they like.
async fn join(mut client: impl AsyncRead + AsyncWrite + Unpin, server: SocketAddr) {
    let mut server = TcpStream::connect(server).await.unwrap();
    let _either_may_hang_up = copy_bidirectional(&mut client, &mut server).await;
}

/// Speaks TLS in front of a server that does not; gives its port.
pub(crate) async fn tls(server: SocketAddr) -> u16 {
    let file = |name: &str| format!("{CERTIFICATES}/{name}");
    let chain = CertificateDer::from_pem_file(file("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust us goes away in the middle.
                if let Ok(stream) = acceptor.accept(stream).await {
                    join(stream, server).await;
                }
            });
        }
    });
    address.port()
}

/// A proxy that leads everything to one server, wherever it was meant to go.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let (listener, address) = listen().await;
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass(stream, server, Arc::clone(&seen)));
            }
        });
        Self { address, heads }
    }

    /// The first line of each connection.
    pub(crate) fn asked_for(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let lines = heads.iter().filter_map(|head| head.lines().next());
        lines.map(str::to_owned).collect()
    }

    /// All that was asked, head by head.
    pub(crate) fn heads(&self) -> String {
        self.heads.lock().unwrap().join("\n")
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = client.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    let text = String::from_utf8(head).unwrap();
    let tunnel = text.starts_with("CONNECT ");
    heads.lock().unwrap().push(text.clone());
    if tunnel {
        client
            .write_all(b"HTTP/1.1 200 Go on\r\n\r\n")
            .await
            .unwrap();
        return join(client, server).await;
    }
    // A plain request names its whole address; the server wants the path.
    let onward_head = text.replacen(" http://models.example/", " /", 1);
    let mut onward = TcpStream::connect(server).await.unwrap();
    onward.write_all(onward_head.as_bytes()).await.unwrap();
    let _either_may_hang_up = copy_bidirectional(&mut client, &mut onward).await;
}
