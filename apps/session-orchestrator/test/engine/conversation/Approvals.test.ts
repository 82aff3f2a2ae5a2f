/** Tests turns that wait for a person's approval of tool calls, over restarts of the service. */
import { assert, describe, it } from "@effect/vitest"
import { type Toolbox } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { type Command, Ids, type Message } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import type * as Tools from "../../../src/engine/conversation/Tools.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as Explanation from "../../../src/insight/inspection/Explanation.ts"
import * as ConversationSetup from "./ConversationSetup.ts"
import * as It from "../../It.ts"

const { asking, watching, withService } = ConversationSetup

const HOUR = 3_600_000

/** Tools `read` and `send`, of which the second needs approval. `ran` has the calls that ran. */
const toolsOf = (ran: Array<string>): Tools.Tools["Service"] => {
  const toolbox: Toolbox.Toolbox["Service"] = {
    definitions: [
      { name: "read", inputSchema: {} },
      { name: "send", inputSchema: {}, confirmWithinMs: 8 * HOUR }
    ],
    run: ({ toolCallId, toolName }, isApproved) =>
      Effect.sync(() => {
        ran.push(`${toolName} ${toolCallId}${isApproved === true ? " approved" : ""}`)
        return { output: "done", isError: false }
      })
  }
  return ConversationSetup.toolsOf(toolbox)
}

const call = (toolName: string, toolCallId: string) =>
  ({ type: "tool-call", toolCallId, toolName, input: { to: toolCallId } }) as const

const scripts = [
  ScriptedProvider.tools(call("send", "one"), call("read", "two"), call("send", "three")),
  ScriptedProvider.answer("Well.")
]

const turnId = Ids.TurnId.make("asks")

/** The outputs of the tool calls, as the model gets them in its second request. */
const outputsIn = (messages: ReadonlyArray<Message.Message> | undefined) =>
  (messages ?? []).flatMap((message) =>
    message.role === "tool" ? message.content.map(({ isError, output }) => ({ isError, output })) : []
  )

/** A service with a turn that has asked. */
const asked = (
  test: It.Body<
    [
      ConversationSetup.Service & {
        readonly id: Ids.ConversationId
        readonly ran: ReadonlyArray<string>
        readonly answer: (
          toolCallId: string,
          more?: Partial<
            Pick<Extract<Command.Steering, { readonly type: "answer-tool" }>, "approve" | "reason" | "commandId">
          >
        ) => Effect.Effect<boolean, unknown>
        readonly frames: Effect.Success<ReturnType<typeof watching>>
      }
    ]
  >
) => {
  const ran: Array<string> = []
  return withService({ scripts, tools: toolsOf(ran) }, function* (service) {
    const { conversations } = service
    const id = yield* conversations.create({})
    const frames = yield* watching(conversations.watch(id, 0))
    yield* asking(conversations.prompt(id, { prompt: "Send it.", turnId }))
    yield* frames.until("provider-retry")
    const answer = (toolCallId: string, more: object = {}) =>
      conversations.steer({ type: "answer-tool", conversationId: id, toolCallId, approve: true, ...more }, "a test")
    yield* Effect.gen(() => test({ ...service, id, ran, answer, frames }))
  })
}

describe("a tool call that needs approval", () => {
  it.effect("waits for a person, while the others run; it runs once, after each call has its answer", () =>
    asked(function* ({ answer, conversations, frames, id, log, ran, store }) {
      assert.deepStrictEqual(ran, ["read two"])
      const state = yield* conversations.state(id)
      assert.deepInclude(state, { status: "retrying", isRetrying: true, turnId, retryAt: 8 * HOUR })
      const { asks } = state.retry ?? {}
      assert.deepInclude(asks, {
        because: "tools",
        message: 'A person has to approve send {"to":"one"}, send {"to":"three"}.',
        calls: [
          { toolCallId: "one", toolName: "send", quoted: '{"to":"one"}' },
          { toolCallId: "three", toolName: "send", quoted: '{"to":"three"}' }
        ]
      })
      const commandId = Ids.CommandId.make("k1")
      assert.isTrue(yield* answer("three", { commandId }))
      assert.isTrue(yield* answer("three", { commandId })) // X4
      assert.deepStrictEqual([yield* answer("three"), yield* answer("two")], [false, false])
      assert.isFalse(yield* conversations.steer({ type: "retry-now", conversationId: id }, "a test"))
      const asked = (yield* conversations.state(id)).retry?.asks?.calls?.map(({ toolCallId }) => toolCallId)
      assert.deepStrictEqual([asked, ran], [["one"], ["read two"]])
      assert.isTrue(yield* answer("one"))
      yield* frames.until("turn-end")
      assert.sameMembers([...ran], ["read two", "send one approved", "send three approved"])
      assert.deepInclude(frames.seen.at(-1)?.event, { type: "turn-end", status: "completed", sleptMs: 0 })
      assert.strictEqual((yield* conversations.state(id)).status, "idle")

      const explained = Explanation.of(
        {
          turn: (yield* store.turn(turnId)).pipe((found) => (found._tag === "Some" ? found.value : assert.fail())),
          conversation: (yield* store.conversation(id)).pipe((found) =>
            found._tag === "Some" ? found.value : assert.fail()
          ),
          events: (yield* store.turnEvents(turnId)).map(({ event }) => event),
          records: yield* log.load(turnId),
          interruption: undefined
        },
        (text) => text
      )
      const outcomes = explained.steps[0]?.tools.map(({ approval }) => approval?.outcome)
      assert.deepStrictEqual(outcomes, ["approved", undefined, "approved"])
      assert.include(explained.steps[0]?.tools[0]?.approval?.words, "was approved by a test")
    })
  )

  it.effect("is answered as a failed call where a person refuses it, with the person's reason", () =>
    asked(function* ({ answer, frames, provider, ran }) {
      yield* answer("one", { approve: false, reason: "Not today." })
      yield* answer("three")
      yield* frames.until("turn-end")
      assert.deepStrictEqual(ran, ["read two", "send three approved"])
      assert.deepStrictEqual(outputsIn(provider.requests[1]?.messages), [
        { isError: true, output: "A person refused this call: Not today." },
        { isError: false, output: "done" },
        { isError: false, output: "done" }
      ])
    })
  )

  It.effect("that is answered for always is not asked again, over restarts, until that is taken back", function* () {
    const storage = Layer.succeedContext(yield* Layer.build(MemoryStore.layer))
    const ran: Array<string> = []
    const tools = toolsOf(ran)
    let id = Ids.ConversationId.make("c")
    const answer = (toolCallId: string, approve: boolean) =>
      ({ type: "answer-tool", conversationId: id, toolCallId, approve, always: true }) as const
    const sends = (toolCallId: string) => [
      ScriptedProvider.tools(call("send", toolCallId)),
      ScriptedProvider.answer("Well.")
    ]
    yield* withService(
      { scripts: [...scripts, ...sends("four")], tools, storage },
      function* ({ conversations, stop }) {
        id = yield* conversations.create({})
        const frames = yield* watching(conversations.watch(id, 0))
        yield* asking(conversations.prompt(id, { prompt: "Send it.", turnId }))
        yield* frames.until("provider-retry")
        // What does not wait changes nothing.
        assert.isFalse(yield* conversations.steer(answer("two", true), "a test"))
        assert.isUndefined((yield* conversations.state(id)).toolAnswers)
        // The other call of the tool has the answer too.
        assert.isTrue(yield* conversations.steer(answer("three", true), "a test"))
        yield* frames.until("turn-end")
        assert.sameMembers([...ran], ["read two", "send one approved", "send three approved"])
        assert.deepStrictEqual((yield* conversations.state(id)).toolAnswers, { send: "approve" })
        const before = frames.seen.length
        yield* conversations.prompt(id, { prompt: "Again.", turnId: Ids.TurnId.make("b") })
        yield* frames.until("turn-end", 2)
        assert.notInclude(frames.types().slice(before), "provider-retry")
        assert.strictEqual(ran.at(-1), "send four approved")
        yield* stop
      }
    )
    yield* withService(
      { scripts: [...sends("five"), ...sends("six")], tools, storage },
      function* ({ conversations, provider }) {
        const frames = yield* watching(conversations.watch(id, 1_000))
        yield* conversations.prompt(id, { prompt: "And again.", turnId: Ids.TurnId.make("c") })
        yield* conversations.result(Ids.TurnId.make("c"))
        assert.strictEqual(ran.at(-1), "send five approved")
        yield* conversations.change({ type: "set-tool-answers", conversationId: id, toolAnswers: {} })
        assert.isUndefined((yield* conversations.state(id)).toolAnswers)
        yield* conversations.prompt(id, { prompt: "Once more.", turnId: Ids.TurnId.make("d") })
        yield* frames.until("provider-retry")
        yield* conversations.steer(answer("six", false), "a test")
        yield* conversations.result(Ids.TurnId.make("d"))
        assert.deepStrictEqual((yield* conversations.state(id)).toolAnswers, { send: "refuse" })
        assert.deepStrictEqual([ran.at(-1), provider.requests.length], ["send five approved", 4])
      }
    )
  })
})
