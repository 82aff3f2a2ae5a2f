/** What is done to a package's JavaScript before it is published. */
import { assert, it } from "vitest"
import * as Docs from "../src/pack/Docs.ts"
import * as PureModules from "../src/pack/PureModules.ts"
import * as Subpaths from "../src/pack/Subpaths.ts"

const marked = (text: string): string => PureModules.marked("A.js", text)

it("what is computed while a module is loaded may be left out, but for statements and what is awaited", () => {
  assert.strictEqual(marked("const a = f(1)"), "const a = /* @__PURE__ */ (() => (f(1)))()")
  assert.strictEqual(
    marked("export const a = { ...b, c: new D() }"),
    "export const a = /* @__PURE__ */ (() => ({ ...b, c: new D() }))()"
  )
  assert.strictEqual(
    marked('export class A extends Tagged("A")<{}> {}'.replace("<{}>", "")),
    'export class A extends /* @__PURE__ */ (() => (Tagged("A")))() {}'
  )
  for (const kept of [
    "f(1)",
    "const a = await f()",
    "const a = () => f()",
    "const a = 1",
    "function a() { return f() }"
  ])
    assert.strictEqual(marked(kept), kept)
})

it("published packages import each other's modules by subpath", () => {
  const index = 'export * as Turn from "./turn/Turn.ts"\nexport { defined } from "./Defined.ts"'
  const modules = Subpaths.of("./src/index.ts", index)
  assert.deepStrictEqual(modules, { Turn: "./src/turn/Turn.ts" })
  assert.deepStrictEqual(Subpaths.exportsOf(".", modules), { "./Turn": "./src/turn/Turn.ts" })
  assert.deepStrictEqual(Subpaths.exportsOf("./host", modules), { "./host/Turn": "./src/turn/Turn.ts" })
  const imported = (text: string) => Subpaths.imported("A.js", text, { "@h/k": modules })
  assert.strictEqual(
    imported('import { Turn as T, defined } from "@h/k";'),
    'import * as T from "@h/k/Turn";\nimport { defined } from "@h/k";'
  )
  for (const kept of ['import { defined } from "@h/k";', 'import * as K from "@h/k";', 'import { Turn } from "other";'])
    assert.strictEqual(imported(kept), kept)
})

it("a package that carries the pages lists them, and its README leads to them", () => {
  const pages = [{ path: "docs/rpc.md", text: "# RPC\n\nA conversation over lines. More.\n" }]
  const files = Docs.files("# Holdfast\n\nKeeps turns alive.\n", pages)
  assert.deepStrictEqual(
    files.map(({ path }) => path),
    ["docs/rpc.md", "llms.txt"]
  )
  assert.include(files.at(-1)?.text, "- [RPC](docs/rpc.md): A conversation over lines.")
  assert.strictEqual(Docs.readme("[rpc](../../docs/rpc.md#a)"), "[rpc](docs/rpc.md#a)")
})
