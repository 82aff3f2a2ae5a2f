/** Tests the client of `@holdfast/client` against the whole service. */
import { assert, describe, it } from "@effect/vitest"
import { ClientError, type ConversationView, HoldfastClient } from "@holdfast/client"
import { defined } from "@holdfast/wire"
import { Effect, Logger } from "effect"
import * as SimulatedService from "./SimulatedService.ts"

const { prompt } = SimulatedService

/** Waits that end by a command alone. */
const long = { retry: SimulatedService.LONG }

const failure = async (promise: Promise<unknown>): Promise<ClientError> => {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, ClientError)
    return error as ClientError
  }
  return assert.fail("it succeeded")
}

const collected = async <A>(items: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  for await (const item of items) all.push(item)
  return all
}

/** The view once it is so. */
const until = async (
  views: AsyncIterable<ConversationView.ConversationView>,
  isSo: (view: ConversationView.ConversationView) => boolean
): Promise<ConversationView.ConversationView> => {
  for await (const view of views) if (isSo(view)) return view
  return assert.fail("the stream ended")
}

describe.each(["http", "websocket"] as const)("HoldfastClient over %s", (name) => {
  const transport = SimulatedService.transports[name]

  /** Runs a test over a client of a service. */
  const withClient = (
    title: string,
    options: SimulatedService.Options,
    test: (client: HoldfastClient, url: string) => Promise<void>
  ) =>
    it.live(title, () =>
      Effect.gen(function* () {
        const { port } = yield* SimulatedService.start(options)
        const own = { ...transport, retryForMs: 500, ...defined({ token: options.token }) }
        const client = yield* SimulatedService.client(port, own)
        yield* Effect.promise(() => test(client, `http://127.0.0.1:${port}`))
      }).pipe(Effect.provide(Logger.layer([])))
    )

  withClient("runs a turn through an outage, and has its events and its result", {}, async (client) => {
    const conversation = await client.createConversation({ title: "Tide" })
    const turn = await conversation.prompt(prompt("529x2,cut-after-3+instant"))
    const events = await collected(turn)
    assert.deepStrictEqual([events[0]?.type, events.at(-1)?.type], ["turn-start", "turn-end"])
    const result = await turn.result()
    assert.deepInclude(result, { turnId: turn.id, status: "completed" })
    const state = await turn.getState()
    assert.deepInclude(state, { status: "completed", text: result.text })
    assert.strictEqual(state.conversationId, conversation.id)
    assert.strictEqual((await turn.explain()).turnId, turn.id)
    const views = conversation.events().views()
    const view = await until(views, ({ status, turn }) => status === "idle" && turn !== undefined)
    const messages = view.history.flatMap((event) => (event.type === "message" ? [event.message] : []))
    assert.deepStrictEqual(messages, await conversation.getMessages())
  })

  withClient("the same turn id is the same turn, and another prompt a conflict", {}, async (client) => {
    const conversation = await client.createConversation()
    const first = await conversation.prompt("One", { turnId: "mine", tags: ["a"], metadata: { n: 1 } })
    await first.result()
    const again = await conversation.prompt("One", { turnId: "mine" })
    assert.strictEqual((await again.result()).turnId, "mine")
    assert.strictEqual((await failure(conversation.prompt("Two", { turnId: "mine" }))).code, "turn-conflict")
    const { message, problem, status } = await failure(conversation.prompt("Two", { turnId: "mine", tags: ["b"] }))
    assert.deepStrictEqual([status, problem?.status], [409, 409])
    assert.include(message, "POST /v1/conversations/")
  })

  withClient("commands reach the wait", long, async (client) => {
    const conversation = await client.createConversation()
    const turn = await conversation.prompt(prompt("529x3"))
    const views = conversation.events().views()
    const waiting = await until(views, ({ retry }) => retry !== undefined)
    assert.deepInclude(waiting.retry, { attempt: 0, code: "529" })
    const state = await conversation.getState()
    assert.strictEqual(state.retryAt, waiting.retry?.retryAt)
    await conversation.waitUntil(new Date(Date.now() + 1_800_000))
    await conversation.extendBudget(60_000)
    await conversation.setAutoRetry(false)
    assert.isFalse((await conversation.getState()).autoRetryEnabled)
    await conversation.setAutoRetry(true)
    // The turn that waits keeps its model.
    await conversation.setModel("simulated/instant")
    await conversation.retryNow({ commandId: "k1" })
    await conversation.retryNow({ commandId: "k1" })
    await until(conversation.events().views(), ({ retry }) => retry?.attempt === 1)
    await conversation.switchTarget("simulated/slow+instant")
    await until(
      conversation.events().views(),
      ({ model, retry }) => retry?.attempt === 2 && model === "simulated/slow+instant"
    )
    await conversation.abortRetry()
    assert.deepInclude(await turn.result(), { status: "failed" })
    const retried = await conversation.retry()
    await until(conversation.events().views(), ({ retry, turn }) => turn?.turnId === retried.id && retry !== undefined)
    assert.strictEqual((await conversation.getState()).model, "simulated/instant")
    await retried.abort()
    assert.strictEqual((await retried.result()).status, "aborted")
  })

  withClient("lists turns and conversations, reports, and commands many", long, async (client) => {
    const turns = [
      await client.submit("One", { tags: ["t"], title: "First" }),
      await client.submit("Two", { tags: ["t"] })
    ]
    await Promise.all(turns.map((turn) => turn.result()))
    const listed = await collected(client.listTurns({ tag: "t", status: "completed", since: new Date(0) }))
    assert.sameMembers(
      listed.map(({ turnId }) => String(turnId)),
      turns.map(({ id }) => id)
    )
    const titles = (await collected(client.listConversations({ tag: "t" }))).map(({ title }) => title)
    assert.sameMembers(titles, ["First", "Two"])
    const [{ conversationId = "" } = {}] = await collected(client.listConversations({ tag: "t" }))
    await client.conversation(conversationId).setTitle("Renamed")
    assert.strictEqual((await failure(client.conversation("none").setTitle("x"))).code, "conversation-not-found")
    const named = await collected(client.listConversations({ ids: [conversationId, "none"] }))
    const titlesById = named.map(({ conversationId, title }) => [String(conversationId), title])
    assert.deepStrictEqual(titlesById, [[conversationId, "Renamed"]])
    assert.deepStrictEqual(await collected(client.listConversations({ busy: true, tag: "t" })), [])
    await client.submit(prompt("auth"), { tags: ["f"] }).then((turn) => turn.result())
    const dryRun = client.commandTurns({ command: { type: "retry" }, filter: { tag: "f" }, dryRun: true })
    const outcomes = (await collected(dryRun)).map(({ outcome }) => outcome)
    assert.deepStrictEqual(outcomes, ["listed"])
    const report = await client.report({ since: Date.now() - 3_600_000 })
    assert.deepInclude(report.turns, { answered: 2, failed: 1 })
    const { report: dry } = await client.dryRun({ outages: ["529 for 1h"], retry: { profile: "overnight" } })
    assert.strictEqual(dry.answered, 1)
  })

  withClient("a refusal has the problem of the service", { token: "secret-token-0123456789" }, async (client, url) => {
    const none = await failure(client.conversation("c_none").getState())
    assert.deepInclude(none.problem, { conversationId: "c_none", title: "There is no such conversation" })
    assert.strictEqual(none.code, "conversation-not-found")
    const unread = await failure(collected(client.conversation("c_none").events()))
    assert.strictEqual(unread.code, "conversation-not-found")
    assert.strictEqual((await failure(collected(client.turn("t_none")))).code, "turn-not-found")
    const conversation = await client.createConversation()
    const wrong = await failure(conversation.prompt(""))
    assert.strictEqual(wrong.code, "invalid-request")
    assert.match(wrong.message, /prompt/)
    for (const [type, status] of [
      ["retry", "running"],
      ["abort", "failed"],
      ["retry-now", "queued"]
    ] as const) {
      const { message } = await failure(collected(client.commandTurns({ command: { type }, filter: { status } })))
      assert.match(message, new RegExp(`filter.status: found "${status}"; expected "[a-z" ]+ for "${type}".`))
    }
    const other = new HoldfastClient({ url, token: "wrong", ...transport })
    const denied = await failure(other.createConversation())
    assert.strictEqual(denied.code, "unauthorized")
    assert.notInclude(denied.message, "wrong")
    assert.strictEqual((await failure(other.conversation(conversation.id).prompt("One"))).code, "unauthorized")
    assert.strictEqual((await failure(collected(other.conversation(conversation.id).events()))).code, "unauthorized")
  })

  withClient("a deleted conversation ends its streams", {}, async (client) => {
    const conversation = await client.createConversation()
    const events = conversation.events()[Symbol.asyncIterator]()
    const first = events.next()
    await (await conversation.prompt("One")).result()
    assert.strictEqual((await first).value?.type, "turn-start")
    await conversation.delete()
    const rest = failure(collected({ [Symbol.asyncIterator]: () => events }))
    assert.strictEqual((await rest).code, "conversation-not-found")
  })

  withClient("a signal ends calls and streams with its reason", long, async (client) => {
    const conversation = await client.createConversation()
    const turn = await conversation.prompt(prompt("529"))
    const abort = new AbortController()
    const reason = new Error("enough")
    const result = turn.result({ signal: abort.signal, onConnection: () => abort.abort(reason) })
    assert.strictEqual(await result.catch((error: unknown) => error), reason)
    assert.strictEqual(await turn.getState({ signal: abort.signal }).catch((error: unknown) => error), reason)
    const waiting = turn.result({ onConnection: ({ state }) => state === "open" && client.close() })
    assert.strictEqual((await failure(waiting)).code, "closed")
  })

  it("names a service that does not answer", async () => {
    const client = new HoldfastClient({ url: "http://127.0.0.1:1", retryForMs: 0, ...transport })
    const call = await failure(client.createConversation())
    assert.deepStrictEqual([call.code, call.status], ["unreachable", undefined])
    assert.include(call.message, "http://127.0.0.1:1")
    assert.strictEqual((await failure(collected(client.conversation("c").events()))).code, "unreachable")
  })
})
