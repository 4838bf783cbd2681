//! Sessions that are being paged through.
//!
//! To find a page, the rows of a session have to be found first, which takes a pass over its file.
//! Whoever scrolls asks for one page after the other, so where the rows of the last sessions are is
//! kept, within bounds; what was appended meanwhile is all that the next page reads of the rest.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use shard_session::{Page, Reader, SessionError};
use shard_types::EntryId;

/// How many sessions are kept open at most.
const SESSIONS: usize = 4;

/// How many messages and results they may have in all, at some 100 bytes each with what stands
/// between them. A longer session is read anew for each page.
const ENTRIES: usize = 200_000;

/// Shorter ones are read anew in no time.
const WORTH_IT: usize = 500;

/// What was paged through last.
///
/// Behind a lock, which is held to take a reader out and to put it back, not while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<Vec<(Box<Path>, Reader)>>);

impl Readers {
    /// A page, as [`Reader::page`] gives it. Blocking.
    pub(super) fn page(
        &self,
        path: &Path,
        before: Option<&EntryId>,
        limit: usize,
    ) -> Result<Option<Page>, SessionError> {
        let reader = match self.take(path) {
            Some(mut reader) => reader.refresh().map(|()| reader),
            None => Reader::open(path),
        }?;
        let page = reader.page(before, limit);
        self.keep(path, reader);
        page
    }

    fn take(&self, path: &Path) -> Option<Reader> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| **known == *path)?;
        Some(kept.remove(at).1)
    }

    /// The newest last. Of two that were opened at the same time one is kept.
    fn keep(&self, path: &Path, reader: Reader) {
        let size = |reader: &Reader| reader.index().len();
        if !(WORTH_IT..=ENTRIES).contains(&size(&reader)) {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| **known != *path);
        kept.push((path.into(), reader));
        let in_all = |kept: &[(_, Reader)]| kept.iter().map(|(_, it)| size(it)).sum::<usize>();
        while kept.len() > SESSIONS || in_all(&kept) > ENTRIES {
            kept.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use shard_session::{Header, SessionFile};
    use shard_types::{EntryBody, MessageDetails, Role, SessionId};

    use super::*;

    fn session(folder: &Path, messages: usize) -> (Box<Path>, SessionFile) {
        let header = Header {
            session_id: SessionId::generate(),
            cwd: "/w".to_owned(),
            created_at: 1,
        };
        let path = folder.join(format!("{}.jsonl", header.session_id));
        let mut file = SessionFile::create(&path, &header).unwrap();
        (0..messages).for_each(|_| _ = say(&mut file));
        (path.into(), file)
    }

    fn say(file: &mut SessionFile) -> EntryId {
        let details = MessageDetails {
            role: Role::User,
            content: Vec::new(),
            partial: false,
            usage: None,
        };
        file.append(EntryBody::Message(details)).unwrap().id
    }

    fn last(readers: &Readers, path: &Path) -> EntryId {
        let page = readers.page(path, None, 1).unwrap().unwrap();
        page.messages[0].id.clone()
    }

    fn kept(readers: &Readers) -> usize {
        readers.0.lock().unwrap().len()
    }

    #[test]
    fn a_page_has_what_was_appended_since_the_one_before() {
        let (folder, readers) = (tempfile::tempdir().unwrap(), Readers::default());
        let (path, mut file) = session(folder.path(), WORTH_IT);
        for _ in 0..3 {
            let said = say(&mut file);
            assert_eq!(last(&readers, &path), said);
            assert_eq!(kept(&readers), 1);
        }
        // Another file in its place is another session.
        let (other, mut file) = session(folder.path(), WORTH_IT);
        let said = say(&mut file);
        std::fs::rename(other, &path).unwrap();
        assert_eq!(last(&readers, &path), said);
        std::fs::remove_file(&path).unwrap();
        assert!(readers.page(&path, None, 1).is_err());
        assert_eq!(kept(&readers), 0);
    }

    #[test]
    fn the_last_few_long_sessions_are_kept() {
        let (folder, readers) = (tempfile::tempdir().unwrap(), Readers::default());
        let (short, _file) = session(folder.path(), WORTH_IT - 1);
        last(&readers, &short);
        assert_eq!(kept(&readers), 0);
        let long: Vec<_> = (0..=SESSIONS)
            .map(|_| session(folder.path(), WORTH_IT).0)
            .collect();
        long.iter().for_each(|path| _ = last(&readers, path));
        assert_eq!(kept(&readers), SESSIONS);
        assert!(readers.take(&long[0]).is_none(), "the oldest makes way");
        assert!(readers.take(&long[SESSIONS]).is_some());
    }
}
