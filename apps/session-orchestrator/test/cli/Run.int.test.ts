/** `holdfast run` through a running service, which is the whole service in this process. */
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { createServer, request } from "node:http"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Service from "../service/Service.ts"
import * as CommandLine from "./CommandLine.ts"
import * as Socket from "../http/Socket.ts"
import * as It from "../It.ts"

const given = Effect.fnUntraced(function* (options?: Service.Options) {
  const service = yield* Service.start(options)
  const run = (args: ReadonlyArray<string>, input: CommandLine.CommandInput = {}) =>
    CommandLine.run(["run", ...args, "--url", `http://127.0.0.1:${service.port}`], input)
  /** The messages that the provider got last. */
  const asked = () => JSON.parse(service.provider.requests().at(-1)?.body ?? "{}").messages
  return { ...service, run, asked }
})

describe("holdfast run, through a service", () => {
  It.live("runs a turn in a new conversation, and its exit code is the turn's end", function* () {
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
    assert.match(
      failed.stderr,
      /\nFailed: 400 .*\nThe provider rejects the request; a retry would fail again\. Why: holdfast explain \S+\n$/
    )
    provider.respond({ status: 401, body: "No." })
    const refused = yield* run(["Why?"], { parts: { environment: {} } })
    assert.match(refused.stderr, /\nFailed: 401 .*\nPut a valid key into .+ and restart the service\. Why: /)
  })

  It.live("sends the files of --attach behind the prompt", function* () {
    const { asked, provider, run } = yield* given()
    provider.fallback(() => ProcessSetup.answer("A chart."))
    assert.strictEqual((yield* run(["What is it?", "--attach", "https://a.example/b.png"])).code, 0)
    const [{ content }] = asked()
    assert.strictEqual(content.map(({ type }: { readonly type: string }) => type).join(), "text,image_url")
  })

  It.live("reads the prompt from standard input but its last line break, the system prompt from a file", function* () {
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

  It.live("prints the events for programs, and nothing else", function* () {
    const { provider, run } = yield* given({ retry: Service.QUICK })
    provider.respond(ProcessSetup.overloaded, ProcessSetup.answer("Because."))
    const { code, stderr, stdout } = yield* run(["--json", "Why?"])
    assert.deepStrictEqual([code, stderr], [0, ""])
    const types = Service.eventsOf(stdout).map(({ type }) => type)
    assert.deepStrictEqual([types[0], types.at(-1)], ["turn-start", "turn-end"])
    assert.include(types, "provider-retry")
  })

  It.live("a conversation of a named service keeps its system prompt, and gets the model for new turns", function* () {
    const { create, provider, run } = yield* given()
    provider.fallback(() => ProcessSetup.answer("Because."))
    const begun = yield* run(["--turn-id", "t-1", "Why?"])
    const [, id = ""] = /conversation (\S+)\./.exec(begun.stderr) ?? []
    // A turn that was sent before is shown again, and changes nothing.
    const same = yield* run(["--turn-id", "t-1", "--model", "scripted/n", "Why?"])
    assert.deepInclude(same, { code: 0, stdout: "Because.\n" })
    yield* run(["--conversation", id, "And?"])
    assert.strictEqual(JSON.parse(provider.requests().at(-1)?.body ?? "{}").model, "m")
    const elsewhere = yield* create()
    const foreign = yield* run(["--turn-id", "t-1", "--conversation", elsewhere, "Why?"])
    const stderr = `holdfast: Turn t-1 belongs to conversation ${id}, not to ${elsewhere}. Choose a new turn id.\n`
    assert.deepInclude(foreign, { code: 1, stdout: "", stderr })
    const refused = yield* run(["--conversation", id, "--system", "Be brief.", "How?"])
    assert.deepInclude(refused, { code: 2, stdout: "" })
    assert.match(refused.stderr, /^holdfast: --system: /)
    assert.strictEqual((yield* run(["--conversation", id, "--model", "scripted/n", "How?"])).code, 0)
    assert.strictEqual(JSON.parse(provider.requests().at(-1)?.body ?? "{}").model, "n")
    const gone = yield* run(["--conversation", "c-none", "How?"])
    assert.deepInclude(gone, { code: 1, stderr: "holdfast: There is no conversation c-none.\n" })
  })

  It.live("rule X9, X12: a service that is named lists, explains and reports its turns", function* () {
    const { port, provider, run } = yield* given()
    provider.respond(ProcessSetup.answer("Because."), { status: 400, body: "No." })
    yield* run(["--turn-id", "t-good", "Why?"])
    yield* run(["--turn-id", "t-bad", "How?"])
    // The address of the environment is the same as the flag.
    const read = (...args: ReadonlyArray<string>) =>
      CommandLine.run(args, { parts: { environment: { HOLDFAST_URL: `http://127.0.0.1:${port}` } } })
    const none = yield* read("turns")
    assert.include(none.stdout, `No turn waits or runs in http://127.0.0.1:${port}.`)
    const all = yield* read("turns", "--all", "--json")
    const states = Socket.jsonLines(all.stdout).map(({ state, turnId }) => `${turnId} ${state}`)
    assert.deepStrictEqual(states, ["t-good completed", "t-bad failed"])
    const failed = yield* read("turns", "--failed", "--since", "1 hour")
    assert.match(failed.stdout, /^STATE +CONVERSATION +TURN [^\n]*\nfailed .* t-bad [^\n]*\n\n1 turn /)
    const why = yield* read("explain", "t-bad")
    assert.match(why.stdout, /^Turn t-bad of conversation [^]*The turn failed after 1 call/)
    assert.notInclude(why.stdout, "(D3)")
    assert.include((yield* read("explain", "--rules", "t-bad")).stdout, "(D3)")
    const unknown = yield* read("explain", "t-none")
    assert.deepInclude(unknown, { code: 1, stdout: "" })
    assert.match((yield* read("report")).stdout, /^1 answered, 1 failed/)
  })

  /** In front of the service: holds calls of a path back until they are let through. */
  const holding = Effect.fnUntraced(function* (port: number, path: RegExp) {
    const reached = Deferred.makeUnsafe<void>()
    const door = Promise.withResolvers<void>()
    const server = createServer((asked, answer) => {
      const url = `http://127.0.0.1:${port}${asked.url}`
      const pass = async () => {
        if (asked.method === "POST" && path.test(asked.url ?? "")) {
          Deferred.doneUnsafe(reached, Effect.void)
          await door.promise
        }
        const onward = request(url, { method: asked.method, headers: asked.headers }, (answered) => {
          answer.writeHead(answered.statusCode ?? 500, answered.headers)
          answered.pipe(answer)
        })
        asked.pipe(onward)
      }
      void pass()
    })
    yield* Effect.promise(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)))
    yield* Effect.addFinalizer(() => Effect.sync(() => (server.closeAllConnections(), server.close())))
    const address = server.address()
    if (address === null || typeof address === "string") return assert.fail("no port")
    return { url: `http://127.0.0.1:${address.port}`, reached: Deferred.await(reached), release: door.resolve }
  })

  It.live("rule D8: Ctrl-C before the turn is on disk aborts it there, and run ends with 130", function* () {
    const { port, provider } = yield* given({ retry: Service.LONG })
    provider.fallback(() => ProcessSetup.overloaded)
    const { reached, release, url } = yield* holding(port, /turns$/)
    const args = ["run", "--turn-id", "t-early", "Why?", "--url", url]
    const signal = CommandLine.signalling()
    const run = yield* Effect.forkChild(CommandLine.run(args), { startImmediately: true })
    yield* reached
    signal("SIGINT")
    release()
    assert.deepInclude(yield* Fiber.join(run), { code: 130, stdout: "" })
    const read = fetch(`http://127.0.0.1:${port}/v1/turns/t-early`).then((response) => response.json())
    assert.deepInclude(yield* Effect.promise(() => read), { status: "aborted" })
  })

  It.live("rule D8: Ctrl-C before there is a conversation ends run with 130, and no turn begins", function* () {
    const { port, provider } = yield* given()
    const { reached, url } = yield* holding(port, /conversations$/)
    const signal = CommandLine.signalling()
    const run = yield* Effect.forkChild(CommandLine.run(["run", "Why?", "--url", url]), { startImmediately: true })
    yield* reached
    signal("SIGINT")
    assert.deepInclude(yield* Fiber.join(run), { code: 130, stdout: "", stderr: "" })
    assert.lengthOf(provider.requests(), 0)
  })

  It.live("reports a service that is named and does not answer", function* () {
    const away = yield* CommandLine.run(["run", "Why?", "--url", "http://127.0.0.1:1"])
    assert.deepInclude(away, { code: 1, stdout: "" })
    assert.include(away.stderr, "The service at http://127.0.0.1:1 does not answer (bad port).")
  })
})
