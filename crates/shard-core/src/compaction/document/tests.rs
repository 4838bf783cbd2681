use super::*;

#[test]
fn what_is_written_is_read_back() {
    let section = |name: &str, items: &[&str]| {
        Section::new(name, items.iter().map(|item| (*item).to_owned()).collect())
    };
    let sections = [
        section(
            "One",
            &["first\n## Two\n- no item\n  indented", "second: ## x"],
        ),
        section("Empty", &[]),
        section("Two", &["---\n---"]),
    ];
    let newest = [section("Three", &["- dash", "last"])];
    let text = render(&sections, &newest);
    assert!(text.starts_with(PREAMBLE));
    let want = [&sections[0], &sections[2], &newest[0]].map(Clone::clone);
    assert_eq!(parse(&text), want);
    assert_eq!(items(Some(&text), "Three"), newest[0].items);
    assert_eq!(items(Some("no document"), "Three"), Vec::<String>::new());
}
