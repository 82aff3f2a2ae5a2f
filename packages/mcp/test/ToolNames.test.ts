import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as ToolNames from "../src/ToolNames.ts"

const assign = (servers: Readonly<Record<string, ReadonlyArray<string>>>) =>
  ToolNames.assign(
    Object.entries(servers).map(([server, names]) => ({ server, tools: names.map((name) => ({ name })) }))
  ).map(({ name }) => name)

const lists = fc.uniqueArray(
  fc.record({
    server: fc.constantFrom("a", "b", "files", "a__b"),
    tools: fc.uniqueArray(
      fc
        .oneof(
          fc.constantFrom("read", "re.ad", "re ad", "b__read", "a__read", "read_2"),
          fc.string({ minLength: 1, maxLength: 80, unit: fc.constantFrom(..."abc_-./ é") })
        )
        .map((name) => ({ name })),
      { maxLength: 8, selector: ({ name }) => name }
    )
  }),
  { maxLength: 4, selector: ({ server }) => server }
)

describe("the names of tools", () => {
  it("are their own, with their server's name before them if two servers have the same", () => {
    assert.deepStrictEqual(assign({ files: ["read", "write"], mail: ["read", "send"] }), [
      "files__read",
      "write",
      "mail__read",
      "send"
    ])
  })

  it("are valid for every provider", () => {
    assert.deepStrictEqual(assign({ a: ["get.user", "get/user", "x".repeat(70)] }), [
      "get_user",
      "get_user_2",
      "x".repeat(64)
    ])
  })

  it("are unique for any names of the servers' tools", () => {
    fc.assert(
      fc.property(lists, (servers) => {
        const names = ToolNames.assign(servers).map(({ name }) => name)
        assert.strictEqual(new Set(names).size, names.length)
        assert.strictEqual(names.length, servers.flatMap(({ tools }) => tools).length)
        for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
      })
    )
  })
})

describe("a list of names", () => {
  it("matches exact names, and * for any text", () => {
    assert.isTrue(ToolNames.matches(["read", "list_*"], "list_files"))
    assert.isTrue(ToolNames.matches(["*"], "anything"))
    assert.isFalse(ToolNames.matches(["read"], "read_all"))
    assert.isFalse(ToolNames.matches(["r.ad"], "read"))
    assert.isFalse(ToolNames.matches([], "read"))
  })
})
