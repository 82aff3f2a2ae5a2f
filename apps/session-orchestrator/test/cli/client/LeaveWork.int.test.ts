/** The commands that leave work to a running service and read it later, on the whole service in this process (X15). */
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as ProcessSetup from "../../service/ProcessSetup.ts"
import * as Process from "../../service/Process.ts"
import * as Service from "../../service/Service.ts"
import * as CommandLine from "../CommandLine.ts"
import * as Recorder from "../Recorder.ts"
import * as It from "../../It.ts"

type Running = Effect.Success<ReturnType<typeof Service.start>>

const holdfast = (service: Pick<Running, "port">, args: ReadonlyArray<string>, given: CommandLine.CommandInput = {}) =>
  CommandLine.run([...args, "--url", `http://127.0.0.1:${service.port}`], given)

/** Runs a command that a person leaves by Ctrl-C once it listens. */
const left = Effect.fnUntraced(function* (service: Pick<Running, "port">, args: ReadonlyArray<string>) {
  const signal = CommandLine.signalling()
  const before = process.listenerCount("SIGINT")
  const leaving = yield* Effect.forkChild(holdfast(service, args))
  const listening = Effect.sync(() => process.listenerCount("SIGINT"))
  yield* Process.eventually("the command to listen", listening, (count) => count > before)
  signal("SIGINT")
  return yield* Fiber.join(leaving)
})

/** A server that has an answer for each path, and one status for every other. */
const answering = (answers: Readonly<Record<string, object>>, otherwise = 404) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(({ url = "" }, response) => {
        const found = answers[url]
        response.writeHead(found === undefined ? otherwise : 200, { "content-type": "application/json" })
        response.end(JSON.stringify(found))
      }).listen(0, "127.0.0.1")
      await once(server, "listening")
      return { server, port: (server.address() as AddressInfo).port }
    }),
    ({ server }) => Effect.sync(() => void server.close())
  )

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

describe("holdfast submit, answer, wait, cancel, attach", () => {
  It.live("rule X15: a file of prompts is submitted once, however often; the answers are fetched by id", function* () {
    const service = yield* Service.start()
    ProcessSetup.script(service.provider, {
      "Why?": [ProcessSetup.answer("Because.")],
      "How?": [{ status: 400, body: "No." }],
      "When?": [ProcessSetup.answer("Now.")]
    })
    const files = {
      "night.jsonl": '{"prompt":"Why?","id":"why"}\n{"prompt":"How?","id":"how"}\n{"prompt":"When?"}'
    }
    const submit = (...args: ReadonlyArray<string>) =>
      holdfast(service, ["submit", "--each", "night.jsonl", ...args], { files })
    const first = yield* submit()
    assert.strictEqual(first.code, 0, first.stderr)
    const ids = lines(first.stdout)
    assert.deepStrictEqual(ids.slice(0, 2), ["why", "how"])

    const waited = yield* holdfast(service, ["wait", ...ids])
    assert.deepInclude(waited, { code: 1, stderr: "" })
    const statuses = lines(waited.stdout).map((line) => line.split(" ").slice(0, 2).join(" ").replace(/:$/, ""))
    assert.sameMembers(statuses, ["why completed", "how failed", `${ids[2]} completed`])
    const screen = { stdout: false, stderr: true }
    const again = yield* holdfast(service, ["submit", "--each", "night.jsonl", "--json"], { files, screen })
    assert.deepStrictEqual(
      lines(again.stdout).map((line) => JSON.parse(line)),
      ids.map((turnId) => ({ turnId, conversationId: turnId, isNew: false }))
    )
    const shown = [1, 2, 3].map((n) => `\r\u001b[J\r\u001b[J${n} of 3 submitted`).join("")
    assert.strictEqual(again.stderr, `${shown}\r\u001b[JAll 3 had been submitted before.\n`)
    assert.strictEqual(service.provider.count(), 3)

    assert.deepInclude(yield* holdfast(service, ["answer", "why"]), { code: 0, stdout: "Because.\n", stderr: "" })
    const failed = yield* holdfast(service, ["answer", "how"])
    assert.deepInclude(failed, { code: 1, stdout: "" })
    assert.match(failed.stderr, /^Turn how: failed: 400 /)
    const none = yield* holdfast(service, ["answer", "none"])
    assert.deepInclude(none, { code: 1, stderr: "holdfast: There is no turn none.\n" })
    assert.strictEqual((yield* holdfast(service, ["answer", "no id"])).code, 2)
    assert.strictEqual(JSON.parse((yield* holdfast(service, ["answer", "--json", "why"])).stdout).status, "completed")
  })

  It.live("rule X15: a prompt of its own as argument or by pipe; a refused one is named by its line", function* () {
    const service = yield* Service.start()
    service.provider.fallback(() => ProcessSetup.answer("Here."))
    assert.deepInclude(yield* holdfast(service, ["submit", "Why?", "--id", "one"]), { code: 0, stdout: "one\n" })
    const again = yield* holdfast(service, ["submit", "Why?", "--id", "one"])
    assert.deepInclude(again, { code: 0, stdout: "one\n", stderr: "It had been submitted before.\n" })
    const piped = yield* holdfast(service, ["submit", "--id", "two"], { stdin: "From a pipe\n" })
    assert.strictEqual(piped.stdout, "two\n")
    const files = { "p.jsonl": '{"prompt":"Other","id":"one"}\n{"prompt":"New","id":"three"}' }
    const mixed = yield* holdfast(service, ["submit", "--each", "p.jsonl"], { files })
    assert.deepInclude(mixed, { code: 1, stdout: "three\n" })
    assert.match(mixed.stderr, /^line 1: /)
    assert.strictEqual((yield* holdfast(service, ["submit", "--each", "p.jsonl", "Why?"], { files })).code, 2)
    assert.strictEqual((yield* holdfast(service, ["submit"])).code, 2)
  })

  It.live("rule X15: an answer, a wait and a command for many turns print what became of each, in full", function* () {
    const shared = { conversationId: "c", status: "completed", model: "a/m", acceptedAt: 0, attempts: 1 }
    const file = { mediaType: "image/png", sizeBytes: 3, name: "a.png" }
    const states = [
      { ...shared, turnId: "plain", text: "Here." },
      { ...shared, turnId: "ended", text: "\u001b[31mHere.\u001b[0m\n" },
      { ...shared, turnId: "none", text: "" },
      { ...shared, turnId: "drawn", text: "", files: [file] },
      { ...shared, turnId: "failed", status: "failed", error: { reason: "auth", message: "No.", code: "401" } },
      { ...shared, turnId: "open", status: "running" }
    ]
    const refused = Array.from({ length: 11 }, (_, n) => {
      return { turnId: `t-${n}`, conversationId: "c", outcome: "refused", message: "Not now." }
    })
    const inLines = (values: ReadonlyArray<object>) => values.map((value) => `${JSON.stringify(value)}\n`).join("")
    const service = yield* answering({
      ...Object.fromEntries(states.map((state) => [`/v1/turns/${state.turnId}`, state])),
      "/v1/turns": { conversationId: "c", isNew: true },
      "/v1/turns/plain/abort": {},
      "/v1/turns/commands": { turns: refused },
      "/v1/spend/raise": { limit: 0, tokens: 500_000 }
    })
    const few = "11 turns refused (t-0, t-1, t-2, t-3, t-4, t-5, t-6, t-7, t-8, t-9, …): Not now.\n"
    const each =
      "holdfast: --each and --attach exclude each other. A JSON line may have files: its prompt is a list then.\n"
    for (const [line, code, stdout, stderr, screen = { stdout: false, stderr: false }] of [
      ["answer plain", 0, "Here.\n", ""],
      ["answer plain --files nowhere", 0, "Here.\n", ""],
      ["answer ended", 0, "\u001b[31mHere.\u001b[0m\n", ""],
      ["answer ended", 0, "[31mHere.[0m\n", "", { stdout: true, stderr: true }],
      ["answer none", 0, "\n", ""],
      ["answer drawn", 0, "", "image/png 3 bytes a.png (--files FOLDER writes it)\n"],
      ["answer drawn --json", 0, inLines(states.slice(3, 4)), ""],
      ["answer failed", 1, "", "\u001b[31mTurn failed: failed: 401 No.\u001b[0m\n", { stdout: false, stderr: true }],
      ["answer open", 3, "", "\u001b[33mTurn open: running\u001b[0m\n", { stdout: false, stderr: true }],
      ["wait plain", 0, "plain completed\n", ""],
      ["wait plain open --timeout 1millis", 3, "plain completed\n", "1 of 2 turns has not ended.\n"],
      ["wait failed open --timeout 1millis", 1, "failed failed: 401 No.\n", "1 of 2 turns has not ended.\n"],
      ["cancel plain", 0, "plain completed\n", ""],
      ["give-up --tag night", 1, "", few],
      ["give-up --tag night --json", 1, inLines(refused), ""],
      ["raise-limit 0 --tokens 500000", 0, "spend[0] allows 500,000 tokens in all.\n", ""],
      ["submit --each p.jsonl --attach a.png", 2, "", each],
      ["submit Why? --id one", 0, "one\n", "", { stdout: false, stderr: true }]
    ] as const) {
      const recorder = Recorder.make(screen, {})
      const found = yield* holdfast(service, line.split(" "), { recorder })
      assert.deepInclude(found, { code, stdout, stderr }, line)
    }
  })

  It.live("rule X15: a turn that waits is not answered yet, is watched later, and is ended", function* () {
    const service = yield* Service.start({ retry: Service.LONG })
    service.provider.respond(ProcessSetup.overloaded, ProcessSetup.overloaded, ProcessSetup.answer("Here at last."))
    yield* holdfast(service, ["submit", "Why?", "--id", "one"])
    yield* holdfast(service, ["submit", "How?", "--id", "two"])
    const pending = holdfast(service, ["answer", "two"])
    const found = yield* Process.eventually("turn two to wait", pending, ({ stderr }) => stderr.includes("waiting"))
    assert.deepInclude(found, { code: 3, stdout: "" })
    assert.match(found.stderr, /^Turn two: waiting until \d{4}-\d\d-\d\d [\d:]+: 529 Overloaded\n$/)
    assert.strictEqual((yield* holdfast(service, ["wait", "--timeout", "10 millis", "one", "two"])).code, 3)
    const cancelled = yield* holdfast(service, ["cancel", "two", "none"])
    assert.deepInclude(cancelled, { code: 1, stdout: "two aborted\n" })
    assert.include(cancelled.stderr, "none: There is no turn none.")

    const leaving = yield* left(service, ["attach", "one"])
    assert.deepInclude(leaving, { code: 130, stdout: "" })
    assert.include(leaving.stderr, "The turn goes on. `holdfast attach one` watches it again.\n")
    const attached = yield* Effect.forkChild(holdfast(service, ["attach", "one"]))
    yield* service.call({ path: "/v1/conversations/one/retry-now", body: {} })
    const { code, stderr, stdout } = yield* Fiber.join(attached)
    assert.deepStrictEqual([code, stdout], [0, "Here at last.\n"])
    assert.match(stderr, /^Turn one of conversation one\.\n/)
    const events = yield* holdfast(service, ["attach", "--json", "one"])
    assert.strictEqual(JSON.parse(lines(events.stdout).at(-1) ?? "").status, "completed")
  })

  It.live("rule X15: turns are retried, switched and given up by a filter, each with what became of it", function* () {
    const service = yield* Service.start({ retry: Service.LONG, providers: ["main", "spare"] })
    const calls = ProcessSetup.script(service.provider, {
      "Why?": [{ status: 400, body: "No." }, ProcessSetup.answer("Because.")],
      "How?": [{ status: 400, body: "No." }, ProcessSetup.answer("Later.")],
      "When?": [ProcessSetup.overloaded, ProcessSetup.answer("Now.")],
      "Where?": [ProcessSetup.overloaded, ProcessSetup.overloaded]
    })
    // An answer of an endpoint wakes the turns that wait for it, so they wait for another one.
    for (const [id, prompt, tag, model] of [
      ["why", "Why?", "night", "main/m"],
      ["how", "How?", "night", "main/m"],
      ["when", "When?", "night", "spare/m"],
      ["where", "Where?", "night/late", "spare/m"]
    ] as const) {
      yield* holdfast(service, ["submit", prompt, "--id", id, "--tag", tag, "--model", model])
    }
    const state = (id: string) => holdfast(service, ["answer", "--json", id])
    const until = (id: string, status: string) =>
      Process.eventually(`turn ${id} to be ${status}`, state(id), ({ stdout }) => stdout.includes(`"${status}"`))
    for (const id of ["why", "how"]) yield* until(id, "failed")
    for (const id of ["when", "where"]) yield* until(id, "waiting")
    // Another prompt has come since.
    yield* service.call(ProcessSetup.submission("how", "how-else", "How? Else?"))
    yield* until("how-else", "completed")

    assert.strictEqual((yield* holdfast(service, ["retry"])).code, 2)
    const dry = yield* holdfast(service, ["retry", "--tag", "night", "--dry-run"])
    assert.deepInclude(dry, { code: 0, stdout: "how listed\nwhy listed\n" })
    const retried = yield* holdfast(service, ["retry", "--tag", "night"])
    const [, by = ""] = /^why done (\S+)\n$/.exec(retried.stdout) ?? []
    assert.deepInclude(retried, { code: 1, stderr: "how refused: Turn how-else came after it.\n" })
    yield* until(by, "completed")
    assert.strictEqual((yield* holdfast(service, ["retry", "--tag", "night"])).stdout, `why idle ${by}\n`)

    // Turns by their ids: these and no other.
    const named = (turnIds: ReadonlyArray<string>, more = {}) =>
      Effect.map(
        service.call({
          path: "/v1/turns/commands",
          body: { command: { type: "abort-retry" }, filter: { turnIds, ...more }, dryRun: true }
        }),
        ({ status, text }) => ({ status, turns: JSON.parse(text).turns })
      )
    const { turns } = yield* named(["where", "why", "gone", "where"])
    const of = (id: string, outcome: string) => ({ turnId: id, conversationId: id, outcome })
    assert.deepStrictEqual(turns, [of("where", "listed"), of("why", "idle")])
    assert.strictEqual((yield* named(["where"], { tag: "night" })).status, 400)

    const nowhere = yield* holdfast(service, ["switch", "--since", "1 hour", "--to", "none/m"])
    assert.deepInclude(nowhere, { code: 1, stdout: "" })
    assert.match(nowhere.stderr, /^2 turns refused \(where, when\): .*none[^\n]*\n$/)
    const moved = yield* holdfast(service, ["switch", "--tag", "night", "--to", "main/n"])
    assert.deepInclude(moved, { code: 0, stdout: "when done\n" })
    assert.include((yield* until("when", "completed")).stdout, '"model":"main/n"')
    const far = "where refused: until: expected a moment within 365 days from now.\n"
    const invalid = 'found "no id"; expected 1 to 64 letters, digits, "_" or "-".\n'
    const two = yield* holdfast(service, ["retry-now", "--client", "claude", "--session", "s"])
    assert.deepStrictEqual([two.code, two.stderr.includes("one of --tag, --client and --session")], [2, true])
    assert.strictEqual((yield* holdfast(service, ["wait-until", "yesterday", "--turn", "where"])).code, 2)
    for (const [args, code, stdout, stderr] of [
      [["retry-now", "--turn", "no id"], 2, "", `holdfast: --turn: ${invalid}`],
      [["raise-limit", "0", "--conversation", "no id"], 2, "", `holdfast: --conversation: ${invalid}`],
      [["wait-until", "365 days", "--turn", "where"], 0, "where done\n", ""],
      [["wait-until", "366 days", "--turn", "where"], 1, "", far],
      // A turn of a conversation is no call of a program, whatever its tags are.
      [["retry-now", "--client", "night/late"], 0, "", "No waiting turn matches.\n"]
    ] as const)
      assert.deepInclude(yield* holdfast(service, args), { code, stdout, stderr })
    assert.deepInclude(yield* holdfast(service, ["retry-now", "--tag", "night/late"]), { stdout: "where done\n" })
    yield* Process.reaches("a call at once", () => calls.length, 8)
    yield* until("where", "waiting")
    assert.deepInclude(yield* holdfast(service, ["give-up", "--model", "spare"]), { code: 0, stdout: "where done\n" })
    yield* until("where", "failed")
    assert.strictEqual(calls.length, 8)
    const wrong = yield* service.call({ path: "/v1/turns/commands", body: { command: { type: "retry" }, filter: {} } })
    assert.strictEqual(wrong.status, 400)
  })

  It.live("rule X15: conversations are exported whole, by tag, as JSONL and as Markdown", function* () {
    const service = yield* Service.start()
    service.provider.fallback(() => ProcessSetup.answer("Because."))
    for (const [id, tag] of Object.entries({ one: "day", two: "night" })) {
      yield* holdfast(service, ["submit", "Why?", "--id", id, "--tag", tag])
      yield* holdfast(service, ["wait", id])
    }
    const all = yield* holdfast(service, ["export"])
    const exported = lines(all.stdout).map((line) => JSON.parse(line))
    const seen = exported.map(({ conversationId, messages, tags }) => `${conversationId} ${messages.length} ${tags}`)
    assert.deepStrictEqual(seen, ["two 2 night", "one 2 day"])
    const { code, stdout } = yield* holdfast(service, ["export", "--tag", "night", "--format", "markdown"])
    assert.strictEqual(code, 0)
    assert.match(
      stdout,
      /^# Why\?\n\ntwo \| \S+ \| scripted\/m \| tags: night\n\n## User, \S+\n\nWhy\?\n\n## scripted\/m, \S+\n\nBecause\.\n\n$/
    )
    assert.strictEqual((yield* holdfast(service, ["export", "--since", "soon"])).code, 2)
  })

  It.live("chat that is left names the command that comes back, and refuses what is no conversation", function* () {
    const service = yield* Service.start()
    const id = yield* service.create()
    for (const args of [["--conversation", id], ["--continue"], []]) {
      const stderr = args.length === 0 ? "" : `\`holdfast chat --conversation ${id}\` goes on with it.\n`
      const chatting = yield* left(service, ["chat", "--plain", ...args])
      assert.deepInclude(chatting, { code: 130, stdout: "", stderr })
    }
    const none = yield* holdfast(service, ["chat", "--plain", "--conversation", "none"])
    assert.deepInclude(none, { code: 1, stdout: "", stderr: "holdfast: There is no conversation none.\n" })
  })

  It.live("reports a service that is not there, or that needs a token, in one line", function* () {
    const away = yield* CommandLine.run(["answer", "one", "--url", "http://127.0.0.1:1"])
    assert.deepInclude(away, { code: 1, stdout: "" })
    assert.match(away.stderr, /^holdfast: The service at http:\/\/127\.0\.0\.1:1 does not answer \(.+\)\. .+\n$/)
    const service = yield* answering({}, 401)
    const stderr =
      "holdfast: The service needs its token. Export HOLDFAST_TOKEN, or the variable of server.tokenEnv, with it.\n"
    for (const line of ["answer one", "wait one", "submit Why?"])
      assert.deepInclude(yield* holdfast(service, line.split(" ")), { code: 1, stdout: "", stderr })
  })
})
