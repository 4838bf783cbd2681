use super::*;

fn check(path: &str, source: &str, want: &[&str]) {
    let language = Language::of(path).unwrap();
    assert_eq!(signatures(language, source), want, "{path}");
}

#[test]
fn declarations_of_the_usual_languages() {
    check(
        "a.rs",
        "use x;\n/// fn no\npub(crate) struct A<T> { x: T }\nimpl<T> A<T> {\n    pub async fn go(&self) -> u8 {\n        let fn_name = 1;\n    }\n}\nenum B { C }\npub trait D: Send {\n    fn d(&self);\n}\n",
        &[
            "pub(crate) struct A<T>",
            "impl<T> A<T>",
            "enum B",
            "pub trait D: Send",
            "pub async fn go(&self) -> u8",
            "fn d(&self)",
        ],
    );
    check(
        "a.ts",
        "import x from 'y';\nexport default class A extends B {\n\tprivate async go(x: number): Promise<void> {\n\t\treturn this.of();\n\t}\n}\nexport interface C { d: string }\nexport const e = (f: number) => f;\nconst g = () => 1;\nif (x) {\n",
        &[
            "export default class A extends B",
            "export interface C",
            "export const e = (f: number) => f",
            "const g = () => 1",
            "private async go(x: number): Promise<void>",
        ],
    );
    check(
        "a.py",
        "import os\nclass A(B):\n    async def go(self, x: int = 1) -> None:\n        def inner(): pass\ndef top():\n    return 1\n",
        &[
            "class A(B)",
            "def top()",
            "async def go(self, x: int = 1) -> None",
        ],
    );
    check(
        "a.go",
        "package a\n\ntype A struct {\n\tB int\n}\n\nfunc (a *A) Go(x int) (int, error) {\n\tfunc() {}()\n}\n",
        &["type A struct", "func (a *A) Go(x int) (int, error)"],
    );
    check(
        "A.java",
        "package a;\npublic final class A {\n    private int x = f(1);\n    public static int go(String s) throws E {\n        return f(s);\n    }\n}\n",
        &[
            "public final class A",
            "public static int go(String s) throws E",
        ],
    );
    check(
        "a.c",
        "#include <a.h>\n#define MAX(a, b) ((a) > (b))\ntypedef struct a a_t;\nstruct b {\n\tint x;\n};\nstatic int *go(int a, char **b)\n{\n\treturn call(a);\n}\nint main(void) {\n\tif (x) {\n",
        &[
            "#define MAX(a, b) ((a) > (b))",
            "typedef struct a a_t",
            "struct b",
            "static int *go(int a, char **b)",
            "int main(void)",
        ],
    );
    check(
        "a.rb",
        "class A < B\n  def go(x)\n    x\n  end\nend\n",
        &["class A < B", "def go(x)"],
    );
    check(
        "a.php",
        "<?php\nfinal class A {\n    public function go(int $x): int {\n    }\n}\n",
        &["final class A", "public function go(int $x): int"],
    );
    assert_eq!(Language::of("notes.md"), None);
    assert_eq!(Language::of("Makefile"), None);
}
