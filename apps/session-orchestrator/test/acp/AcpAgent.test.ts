/** Tests the agent of the Agent Client Protocol as its lines: what it answers, sends and asks over a scripted service. */
import type { Client } from "@holdfast/client/effect"
import type { TurnEvent } from "@holdfast/wire"
import { expect } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import * as AcpAgent from "../../src/acp/AcpAgent.ts"
import * as GivenTurn from "../GivenTurn.ts"
import * as It from "../It.ts"

const { ids } = GivenTurn
const sessionId = ids.conversationId
type Id = { readonly turnId: string }
type Event = TurnEvent.TurnEvent | ((turn: Id) => TurnEvent.TurnEvent)
type Refusal = { readonly message: string; readonly detail?: string }

const line = (message: object) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`
const request = (id: number, method: string, params: object) => line({ id, method, params })
const load = (id: number, given: object = {}) =>
  request(id, "session/load", { sessionId, cwd: "/", mcpServers: [], ...given })
const prompt = (id: number, text: string) =>
  request(id, "session/prompt", { sessionId, prompt: [{ type: "text", text }] })

const done = (id: number, result: object) => ({ jsonrpc: "2.0", id, result })
const failed = (id: number, code: number, message: string, data?: object) =>
  ({ jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } }) as const
const update = (update: object) => ({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update } })
const RETRY = [{ name: "retry", description: "Run the model again after an error or an abort" }]
const commands = update({ sessionUpdate: "available_commands_update", availableCommands: RETRY })
const MODELS = { currentValue: "a/m", options: ["a/m", "b/n"].map((value) => ({ value, name: value })) }
const options = { configOptions: [{ type: "select", id: "model", name: "Model", category: "model", ...MODELS }] }

/** An editor, and a service with one conversation: its calls are recorded, and its events are the test's. */
const rig = Effect.fnUntraced(function* (history: ReadonlyArray<object> = []) {
  const calls = yield* Queue.unbounded<unknown>()
  const lines = yield* Queue.unbounded<unknown>()
  const events = yield* Queue.unbounded<TurnEvent.TurnEvent>()
  let turn: Id = { turnId: "" }
  let outcome: Effect.Effect<unknown, Refusal> = Effect.void
  const called = (...call: ReadonlyArray<unknown>) => Effect.suspend(() => (Queue.offerUnsafe(calls, call), outcome))
  const begun = (given: Id, ...call: ReadonlyArray<unknown>) => Effect.suspend(() => ((turn = given), called(...call)))
  const conversation = {
    id: sessionId,
    getMessages: Effect.succeed(history),
    getState: Effect.succeed({ model: "a/m" }),
    events: () => Stream.fromQueue(events),
    prompt: (prompt: unknown, given: Id) => begun(given, "prompt", prompt),
    retry: (given: Id) => begun(given, "retry"),
    answerTool: (answer: unknown) => called("answerTool", answer),
    abort: () => called("abort")
  }
  const [input, output] = [new TransformStream<Uint8Array, Uint8Array>(), new TransformStream<Uint8Array, Uint8Array>()]
  const agent = yield* AcpAgent.run({
    version: "1.2.3",
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The calls of this client that a session makes.
    service: {
      conversation: () => conversation,
      createConversation: () => Effect.succeed(conversation)
    } as unknown as Client["Service"],
    opening: { model: "a/m" },
    models: ["a/m", "b/n"],
    input: input.readable,
    output: output.writable
  }).pipe(Effect.forkChild)
  const written = Stream.fromReadableStream({ evaluate: () => output.readable, onError: () => "closed" })
  const read = Stream.runForEach(Stream.splitLines(Stream.decodeText(written)), (text) =>
    Queue.offer(lines, JSON.parse(text))
  )
  yield* Effect.forkScoped(read)
  const writer = input.writable.getWriter()
  const write = (text: string) => Effect.sync(() => void writer.write(new TextEncoder().encode(text)))
  yield* write(request(0, "initialize", { protocolVersion: 1, clientCapabilities: {} }))
  const promptCapabilities = { image: true, audio: true, embeddedContext: true }
  const agentInfo = { name: "holdfast", title: "Holdfast", version: "1.2.3" }
  const initialized = { agentCapabilities: { loadSession: true, promptCapabilities }, agentInfo, authMethods: [] }
  expect(yield* Queue.take(lines)).toEqual(done(0, { protocolVersion: 1, ...initialized }))
  return {
    write,
    /** The next calls of the service, and the next lines of the agent. */
    calls: (count: number) => Queue.takeN(calls, count),
    next: (count: number) => Queue.takeN(lines, count),
    refuse: (error: Refusal) => (outcome = Effect.fail(error)),
    /** Lets the conversation emit events; functions get the turn of the last prompt. */
    emit: (...all: ReadonlyArray<Event>) =>
      Effect.forEach(all, (event) => Queue.offer(events, typeof event === "function" ? event(turn) : event)),
    end: Effect.flatMap(
      Effect.promise(() => writer.close()),
      () => Fiber.join(agent)
    )
  }
})

const ended =
  (...end: Parameters<typeof GivenTurn.end>) =>
  (turn: Id) =>
    ({ ...GivenTurn.end(...end), ...turn }) as TurnEvent.TurnEvent

const retried = (turn: Id) => ({ ...ids, type: "retry-end", success: true, attempt: 0, ...turn }) as TurnEvent.TurnEvent

const asks = (...names: ReadonlyArray<string>) => {
  const asked = names.map((toolCallId) => ({ toolCallId, toolName: "look", quoted: "" }))
  const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "May it?", calls: asked } as const
  return GivenTurn.retry({ asks })
}

const log = It.logged()
const test = It.within(log.layer)

test("a loaded session has its history first; the end of a turn or a refusal is the answer to its prompt", function* () {
  const { calls, emit, end, next, refuse, write } = yield* rig([ids, ids])
  const said = (text: string) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } })
  const answer = (finishReason: string) => {
    const { message, ...event } = GivenTurn.answer(finishReason)
    return { ...event, message: { ...message, finishReason } } as TurnEvent.TurnEvent
  }
  yield* write(load(1))
  yield* emit(asks(), answer("stop"))
  expect(yield* next(1)).toEqual([said("stop")])
  for (let turn = 0; turn < 20; turn++) yield* Effect.promise(() => new Promise(setImmediate)) // no answer yet
  yield* emit(answer("stop"))
  expect(yield* next(2)).toEqual([said("stop"), done(1, options)])
  yield* write(load(2))
  expect(yield* next(1)).toEqual([done(2, options)])
  const error = { reason: "unknown", message: "No.", retryable: false } as const
  for (const [finish, end, answered] of [
    ["stop", ended("completed"), done(3, { stopReason: "end_turn" })],
    ["length", ended("completed"), done(3, { stopReason: "max_tokens" })],
    ["content-filter", ended("completed"), done(3, { stopReason: "refusal" })],
    ["stop", ended("aborted"), done(3, { stopReason: "cancelled" })],
    ["stop", ended("failed", { error }), failed(3, -32603, "No.", error)],
    ["stop", ended("failed"), failed(3, -32603, "The turn failed.")]
  ] as const) {
    yield* write(prompt(3, " /retry\n"))
    expect([...(yield* next(1)), ...(yield* calls(1))]).toEqual([commands, ["retry"]])
    yield* emit(GivenTurn.end("aborted"), retried, answer(finish), end)
    expect(yield* next(2)).toEqual([said(finish), answered])
  }
  for (const error of [{ message: "It is refused.", detail: "Another turn has it." }, { message: "It is refused." }]) {
    refuse(error)
    yield* write(prompt(4, "Hi"))
    expect(yield* next(2)).toEqual([commands, failed(4, -32602, error.detail ?? error.message)])
  }
  yield* end
})

test("rule X8: asks once about each tool call, and withdraws a request that was answered elsewhere", function* () {
  const { calls, emit, end, next, write } = yield* rig()
  yield* write(load(1))
  yield* next(1)
  const ANSWERS = [
    ["allow", "Allow", "allow_once", { approve: true, always: false }],
    ["allow-always", "Always allow in this conversation", "allow_always", { approve: true, always: true }],
    ["reject", "Reject", "reject_once", { approve: false, always: false }],
    ["reject-always", "Always reject in this conversation", "reject_always", { approve: false, always: true }]
  ] as const
  const asked = (id: number, name: string, input?: object) => {
    const toolCall = { toolCallId: `t/${name}`, title: "look", status: "pending", ...(input && { rawInput: input }) }
    const options = ANSWERS.map(([optionId, name, kind]) => ({ optionId, name, kind }))
    return { jsonrpc: "2.0", id, method: "session/request_permission", params: { sessionId, toolCall, options } }
  }
  const withdrawn = (requestId: number) => ({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId } })
  const result = { ...ids, type: "tool-result", toolName: "look", output: "", isError: false } as const
  for (const [id, [optionId, , , answer]] of ANSWERS.entries()) {
    const call = { ...ids, toolCallId: optionId, toolName: "look" }
    yield* emit({ ...call, type: "tool-call", input: { id } }, asks(optionId))
    expect(yield* next(1)).toEqual([asked(id, optionId, { id })])
    yield* write(line({ id, result: { outcome: { outcome: "selected", optionId } } }))
    expect(yield* calls(1)).toEqual([["answerTool", { toolCallId: optionId, ...answer }]])
    yield* emit({ ...result, ...call })
    yield* next(1)
  }
  yield* emit(asks("allow", "two"))
  expect(yield* next(2)).toEqual([asked(4, "allow"), asked(5, "two")])
  yield* emit(GivenTurn.answer("."), { ...result, toolCallId: "other" }, GivenTurn.delta("."))
  expect(yield* next(7)).toMatchObject(Array.from({ length: 7 }, () => ({ method: "session/update" })))
  yield* emit(asks("two"))
  expect(yield* next(1)).toEqual([withdrawn(4)])
  yield* emit(retried)
  expect(yield* next(1)).toEqual([withdrawn(5)])
  yield* emit(asks("two"), GivenTurn.end("aborted", { queued: true }), asks("two"))
  expect(yield* next(1)).toEqual([asked(6, "two")])
  yield* emit(GivenTurn.end("aborted"))
  expect(yield* next(1)).toEqual([withdrawn(6)])
  yield* emit(asks("seven"))
  expect(yield* next(1)).toEqual([asked(7, "seven")])
  // The answer to the next request comes behind what follows this one.
  yield* write(line({ id: 7, result: { outcome: { outcome: "cancelled" } } }) + load(2))
  yield* next(1)
  yield* emit(asks("seven"))
  expect(yield* next(1)).toEqual([asked(8, "seven")])
  log.lines.length = 0
  yield* write(line({ id: 8, error: { code: 1, message: "No." } }) + load(3))
  yield* next(1)
  expect(log.lines).toEqual(["Warn The client did not answer about the tool call seven. No."])
  yield* end
})

test("a client's tool servers are warned of, a cancelled request ends its turn, and a long id is cut", function* () {
  const { calls, end, next, write } = yield* rig()
  const mcpServers = [{ name: "one", command: "x", args: [], env: [] }]
  log.lines.length = 0
  yield* write(request(1, "session/new", { cwd: "/", mcpServers }) + load(2, { mcpServers }))
  expect(yield* next(2)).toEqual([done(1, { sessionId, ...options }), done(2, options)])
  const warning = "Warn The client's tool servers are not used: one. Tool servers are in the configuration (tools)."
  expect(log.lines).toEqual([warning, warning])
  const cancel = line({ method: "$/cancel_request", params: { requestId: 4 } })
  yield* write(load(3, { sessionId: "a b".padEnd(99, "c") }) + prompt(4, "Hi") + cancel)
  expect(yield* next(2)).toEqual([failed(3, -32602, `There is no session "${"a b".padEnd(80, "c")}".`), commands])
  expect(yield* calls(2)).toEqual([["prompt", "Hi"], ["abort"]])
  yield* end
})
