/** `holdfast run` through a running service, which is the whole service in this process. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Service from "../service/Service.ts"
import * as CommandLine from "./CommandLine.ts"

const given = Effect.fnUntraced(function* (options?: Service.Options) {
  const service = yield* Service.start(options)
  const run = (args: ReadonlyArray<string>, input: CommandLine.CommandInput = {}) =>
    CommandLine.run(["run", ...args, "--url", `http://127.0.0.1:${service.port}`], input)
  /** The messages that the provider got last. */
  const asked = () => JSON.parse(service.provider.requests().at(-1)?.body ?? "{}").messages
  return { ...service, run, asked }
})

describe("holdfast run, through a service", () => {
  it.live("runs a turn in a new conversation, and its exit code is the turn's end", () =>
    Effect.gen(function* () {
      const { asked, provider, run } = yield* given()
      provider.respond(ProcessSetup.answer("Because."), { status: 400, body: "No." })
      const answered = yield* run(["--system", "Be brief.", "Why?"])
      assert.deepInclude(answered, { code: 0, stdout: "Because.\n" })
      assert.match(answered.stderr, /^Turn \S+ of conversation \S+\.\n$/)
      assert.deepStrictEqual(asked(), [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Why?" }
      ])
      const failed = yield* run(["Why?"])
      assert.deepInclude(failed, { code: 1, stdout: "" })
      assert.match(failed.stderr, /\nFailed: 400 /)
    })
  )

  it.live("sends the files of --attach behind the prompt", () =>
    Effect.gen(function* () {
      const { asked, provider, run } = yield* given()
      provider.fallback(() => ProcessSetup.answer("A chart."))
      assert.strictEqual((yield* run(["What is it?", "--attach", "https://a.example/b.png"])).code, 0)
      const [{ content }] = asked()
      assert.deepStrictEqual(
        content.map(({ type }: { readonly type: string }) => type),
        ["text", "image_url"]
      )
    })
  )

  it.live("reads the prompt from standard input without its last line break, and the system prompt from a file", () =>
    Effect.gen(function* () {
      const { asked, provider, run } = yield* given()
      provider.fallback(() => ProcessSetup.answer("Because."))
      for (const args of [[], ["-"]]) {
        yield* run(["--system-file", "s.txt", ...args], { stdin: "Why?\n\r\n", files: { "s.txt": "Be\nbrief.\n" } })
        assert.deepStrictEqual(asked(), [
          { role: "system", content: "Be\nbrief." },
          { role: "user", content: "Why?\n" }
        ])
      }
    })
  )

  it.live("prints the events for programs, and nothing else", () =>
    Effect.gen(function* () {
      const { provider, run } = yield* given({ retry: Service.QUICK })
      provider.respond(ProcessSetup.overloaded, ProcessSetup.answer("Because."))
      const { code, stderr, stdout } = yield* run(["--json", "Why?"])
      assert.deepStrictEqual([code, stderr], [0, ""])
      const types = Service.eventsOf(stdout).map(({ type }) => type)
      assert.deepStrictEqual([types[0], types.at(-1)], ["turn-start", "turn-end"])
      assert.include(types, "provider-retry")
    })
  )

  it.live("a conversation of a service that is named keeps its system prompt, and gets the model for new turns", () =>
    Effect.gen(function* () {
      const { provider, run } = yield* given()
      provider.fallback(() => ProcessSetup.answer("Because."))
      const begun = yield* run(["--turn-id", "t-1", "Why?"])
      const [, id = ""] = /conversation (\S+)\./.exec(begun.stderr) ?? []
      const refused = yield* run(["--conversation", id, "--system", "Be brief.", "How?"])
      assert.deepInclude(refused, { code: 2, stdout: "" })
      assert.match(refused.stderr, /^holdfast: --system: /)
      assert.strictEqual((yield* run(["--conversation", id, "--model", "scripted/n", "How?"])).code, 0)
      assert.strictEqual(JSON.parse(provider.requests().at(-1)?.body ?? "{}").model, "n")
      const gone = yield* run(["--conversation", "c-none", "How?"])
      assert.deepInclude(gone, { code: 1, stderr: "holdfast: There is no conversation c-none.\n" })
    })
  )

  it.live("reports a service that is named and does not answer", () =>
    Effect.gen(function* () {
      const away = yield* CommandLine.run(["run", "Why?", "--url", "http://127.0.0.1:1"])
      assert.deepInclude(away, { code: 1, stdout: "" })
      assert.include(away.stderr, "The service at http://127.0.0.1:1 does not answer.")
    })
  )
})
