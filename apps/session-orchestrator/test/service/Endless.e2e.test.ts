/** Runs the service with little memory against a provider that answers without end. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { text as read } from "node:stream/consumers"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

/** MiB. Without limits a response fills it within seconds. */
const HEAP = "--max-old-space-size=512"

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason }] })}\n\n`

const call = (text: string) =>
  chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "write", arguments: text } }] })

const whole = (text: string) => [chunk({ content: text }), chunk({}, "stop"), "data: [DONE]\n\n"].join("")

const DEEP = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`

/** Answers by the last text of the request; endless answers continue until their connection is closed. */
const provider = Effect.acquireRelease(
  Effect.promise(async () => {
    const calls: Array<string> = []
    const answers: Readonly<Record<string, (response: Http.ServerResponse) => void>> = {
      "endless-text": (response) => flood(response, chunk({ content: "x".repeat(8_000) })),
      "endless-call": (response) => flood(response, call("x".repeat(8_000))),
      "endless-lines": (response) => flood(response, "data: \n".repeat(8_000)),
      "nested deeper than 200 levels": (response) => response.end(whole("It was nested too deeply.")),
      "deep-call": (response) => response.end(call(DEEP) + chunk({}, "tool_calls") + "data: [DONE]\n\n"),
      hello: (response) => response.end(whole("Hello"))
    }
    const flood = (response: Http.ServerResponse, piece: string) => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once("drain", () => flood(response, piece))
    }
    const server = Http.createServer(async (request, response) => {
      const body = await read(request).catch(() => undefined)
      // The client left before it had sent everything.
      if (body === undefined) return
      const name = Object.keys(answers).find((name) => body.includes(name)) ?? ""
      calls.push(name)
      response.writeHead(200, { "content-type": "text/event-stream" })
      answers[name]?.(response)
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return { calls, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

describe("a process with little memory", () => {
  It.live("rule C11: survives endless answers and tool calls, whose turns fail after one call each", function* () {
    const { calls, url } = yield* provider
    const directory = yield* Process.directory
    const config = ProcessSetup.configOf({ url })
    const service = yield* Process.start({ directory, config, env: { NODE_OPTIONS: HEAP } })
    const prompts = ["endless-text", "endless-call", "endless-lines"]
    const ends = yield* Effect.forEach(
      prompts,
      (prompt) =>
        Effect.flatMap(service.create(), (id) =>
          Effect.map(
            service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt } }),
            ({ text }): { readonly status: string; readonly error?: object } => JSON.parse(text)
          )
        ),
      { concurrency: "unbounded" }
    )
    for (const end of ends) {
      assert.strictEqual(end.status, "failed")
      assert.deepInclude(end.error, { reason: "invalid-response", retryable: false })
    }
    assert.deepStrictEqual(calls.toSorted(), prompts.toSorted())
    assert.strictEqual((yield* service.call({ path: "/healthz" })).status, 200)
    const events = yield* Effect.flatMap(service.create(), (id) => ProcessSetup.turn(service, id, "hello"))
    assert.strictEqual(Service.shown(events), "Hello")
    assert.isNull(service.child.exitCode)
  })

  It.live("rule C11, A10: answers a call with arguments of 5,000 levels as malformed; the turn goes on", function* () {
    const { calls, url } = yield* provider
    const directory = yield* Process.directory
    const service = yield* Process.start({ directory, config: ProcessSetup.configOf({ url }) })
    const id = yield* service.create()
    const events = yield* ProcessSetup.turn(service, id, "deep-call")
    assert.strictEqual(ProcessSetup.endOf(events).status, "completed")
    assert.strictEqual(Service.shown(events), "It was nested too deeply.")
    assert.deepStrictEqual(calls, ["deep-call", "nested deeper than 200 levels"])
    yield* service.end("SIGKILL")
    const again = yield* Process.start({ directory, config: ProcessSetup.configOf({ url }) })
    const history = yield* again.history(id)
    assert.deepStrictEqual([history.at(-1), calls.length], ["assistant: It was nested too deeply.", 2])
  })
})
