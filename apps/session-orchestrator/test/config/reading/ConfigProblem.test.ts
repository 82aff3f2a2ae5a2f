import { assert, describe, it } from "@effect/vitest"
import { Exit, Cause, Schema } from "effect"
import * as ConfigProblem from "../../../src/config/reading/ConfigProblem.ts"
import * as Configurations from "../Configurations.ts"

/** The only problem of a file. */
const problem = (file: unknown): string => {
  const [only = "", ...others] = Configurations.problems({ file })
  assert.deepStrictEqual(others, [])
  return only
}

describe("a problem of the configuration", () => {
  it("quotes a short value, and names the kind of any other", () => {
    const of = (profile: unknown) => problem({ retry: { profile } })
    const expected = 'expected "overnight", "weekly", "interactive" or "cycling".'
    const found = [of(""), of(1.5), of(true), of(null), of([]), of({})]
    const values = ['""', "1.5", "true", "null", "a list", "an object"]
    const told = values.map((value) => `retry.profile: found ${value}; ${expected}`)
    assert.deepStrictEqual(found, told)
    assert.strictEqual(of("over"), `retry.profile: found "over"; ${expected} Did you mean "overnight"?`)
    assert.strictEqual(problem({ gate: { enabled: "yes" } }), 'gate.enabled: found "yes"; expected true or false.')
    assert.strictEqual(
      problem({ retry: { jitter: { factor: "x" } } }),
      'retry.jitter.factor: found "x"; expected a number.'
    )
    assert.strictEqual(problem({ spend: {} }), "spend: found an object; expected a list.")
    assert.strictEqual(problem([]), "the whole: found a list; expected an object.")
  })

  it("spells out an abbreviated duration, and no other", () => {
    const of = (maxDelay: string) => /Did you mean (.*)\?$/.exec(problem({ retry: { maxDelay } }))?.[1]
    const spelled = { ms: "millis", sec: "seconds", Mins: "minutes", hr: "hours", d: "days" }
    for (const [unit, word] of Object.entries(spelled)) assert.strictEqual(of(`5 ${unit}`), `"5 ${word}"`)
    assert.strictEqual(of(" 1.5h "), '"1.5 hours"')
    assert.isUndefined(of("5 parsecs"))
    assert.isUndefined(of("h"))
    assert.isUndefined(of(""))
  })

  it("names only the kind of a value that is or may be a secret", () => {
    const of = (token: unknown) => problem({ server: { token } })
    const expected = "expected a string of at least 16 characters."
    const kinds = ["a string of 3 characters", "an empty string", "a number", "null"]
    const found = kinds.map((kind) => `server.token: found ${kind}; ${expected}`)
    assert.deepStrictEqual(["abc", "", 5, null].map(of), found)
    assert.strictEqual(problem("sk-planted"), "the whole: found a string of 10 characters; expected an object.")
  })

  it("quotes an address without its user and its query", () => {
    const [, address] = Configurations.problems({
      file: { providers: { own: { type: "own", baseUrl: "http://u:p@h:1/?a=b" } } }
    })
    assert.match(address ?? "", /^providers\.own\.baseUrl: found "http:\/\/\.\.\.@h:1\/\?\.\.\."; expected an http/)
  })

  it("is what a browser never sends as the origin of a page", () => {
    const file = (...allowedOrigins: ReadonlyArray<string>) => ({ server: { allowedOrigins } })
    const origins = ["https://app.example.org", "http://localhost:3000", "tauri://localhost", "tauri://Localhost:80"]
    assert.deepStrictEqual(Configurations.problems({ file: file(...origins) }), [])
    const expected =
      'expected the origin of pages, such as "https://app.example.org": scheme, host and port as a browser sends them, without a path and without *.'
    for (const origin of ["https://App.example.org", "https://a.example:443", "http://[", "*", "tauri://localhost/"])
      assert.strictEqual(problem(file(origin)), `server.allowedOrigins[0]: found "${origin}"; ${expected}`)
  })

  it("of an unknown key names the nearest key and the existing ones", () => {
    assert.strictEqual(
      problem({ database: { pth: 1 } }),
      'database.pth: unknown key. Did you mean "path"? Known here: path, retention, deleteConversations, url.'
    )
    assert.match(problem({ zzzzzz: 1 }), /^zzzzzz: unknown key\. Known here: server, database, /)
  })

  it("has a path as JavaScript writes it", () => {
    const { formatPath } = ConfigProblem
    assert.strictEqual(formatPath(["retry", "delays", 2, "a-b"]), "retry.delays[2].a-b")
    assert.strictEqual(formatPath([0, "a"]), "[0].a")
    assert.strictEqual(formatPath(["models", "a/b", "body"]), 'models["a/b"].body')
    assert.strictEqual(formatPath(["a".repeat(60)]), "a".repeat(60))
    assert.notStrictEqual(formatPath(["a".repeat(61)]), "a".repeat(61))
    assert.strictEqual(ConfigProblem.format({ place: "a", message: "b." }), "a: b.")
  })

  it("is reported with the others, the first twenty of them", () => {
    const schema = Schema.Array(Schema.Boolean)
    const first = (count: number) => {
      const input = Array.from({ length: count }, (_, n) => n)
      const exit = Schema.decodeUnknownExit(schema, { errors: "all" })(input)
      if (!Exit.isFailure(exit)) return assert.fail("it is fine")
      const error = Cause.squash(exit.cause)
      if (!Schema.isSchemaError(error)) return assert.fail(String(error))
      assert.lengthOf(ConfigProblem.pathsOf(error.issue), count)
      return ConfigProblem.firstOf(error.issue, input)
    }
    assert.strictEqual(first(1), "[0]: found 0; expected true or false.")
    assert.notInclude(first(20), "more")
    assert.match(first(21), / \[19\]: found 19; expected true or false\. And 1 more\.$/)
    assert.match(first(30), / And 10 more\.$/)
  })
})
