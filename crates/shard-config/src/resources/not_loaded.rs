//! What a person may expect to count and what this version does not load: extensions, and servers
//! that a project names. Nothing of them is opened.

use super::{Found, Kind, Layer, Project, Roots, listed};

const EXTENSION: &str = "not loaded: this version runs no extension from a file";
const MCP: &str = "not loaded: this version starts no server that a project names";

/// Lists them.
pub(super) fn look(roots: &Roots, project: &Project, found: &mut Vec<Found>) {
    let users = (roots.state_home.join("extensions"), Layer::User);
    let of_project = project.places(".shard/extensions");
    let folders = of_project.map(|folder| (folder, Layer::Project));
    for (folder, layer) in std::iter::once(users).chain(folders) {
        for path in listed(&folder, Kind::Extension, layer, found) {
            let mut extension = Found::new(Kind::Extension, &path, layer);
            extension.not_in_force(EXTENSION);
            found.push(extension);
        }
    }
    for name in [".shard/mcp.json", ".mcp.json"] {
        let there = project
            .places(name)
            .filter(|path| path.symlink_metadata().is_ok());
        found.extend(there.map(|path| {
            let mut servers = Found::new(Kind::Mcp, &path, Layer::Project);
            servers.not_in_force(MCP);
            servers
        }));
    }
}
