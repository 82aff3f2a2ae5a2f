/** The library without Effect, over models that fail and stores that live on. */
import { afterEach, assert, describe, it, vi } from "vitest"
import * as fc from "fast-check"
import {
  holdfast,
  memoryStore,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type Options,
  type Store,
  tool,
  toolContent,
  type TurnEvent
} from "../src/index.ts"

/** Waits of no length, so that no test takes time; a wait that a command is to end lasts for hours. */
const AT_ONCE = {
  schedule: { type: "steps", delays: ["0 millis", "0 millis", "0 millis", "0 millis", "0 millis"], tail: "1 millis" },
  maxRetries: 5
} as const
const HOURS = {
  schedule: { type: "steps", delays: ["3 hours"], tail: "3 hours" },
  budget: "12 hours",
  jitter: "none" as const
} as const

const failure = (status: number): Error => Object.assign(new Error("Overloaded"), { status })

type Script = ReadonlyArray<Error | ReadonlyArray<ModelEvent | Error>>

/** Answers its calls in order; the last one again and again. */
const scripted = (script: Script) => {
  const requests: Array<ModelRequest> = []
  const model: Model = async function* (request) {
    const answer = script[Math.min(requests.push(request), script.length) - 1] ?? []
    if (answer instanceof Error) throw answer
    for (const event of answer) {
      if (event instanceof Error) throw event
      yield event
    }
  }
  return { model, requests }
}

const assertRejects = async (promise: Promise<unknown>, words: string): Promise<void> => {
  const error: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error
  )
  assert.include(String(error), words)
}

const all = async (events: AsyncIterable<TurnEvent>): Promise<ReadonlyArray<TurnEvent>> => {
  const collected: Array<TurnEvent> = []
  for await (const event of events) collected.push(event)
  return collected
}
const typesOf = (events: ReadonlyArray<TurnEvent>) => events.map(({ type }) => type)

/** Resolves when the turn waits. */
const toWait = async (turn: AsyncIterable<TurnEvent>) => {
  for await (const event of turn) if (event.type === "provider-retry") return event
  throw new Error("The turn never waited.")
}

describe("files", () => {
  const png = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" } as const
  const prompt = [{ type: "text", text: "What is it?" }, png] as const

  it("of a prompt reach the model as they are, also after a restart", async () => {
    const store = memoryStore()
    const first = holdfast({ model: scripted([failure(529)]).model, retry: HOURS, store })
    const turn = first.turn(prompt, { id: "t1" })
    await toWait(turn)
    await first.close()
    const { model, requests } = scripted([["A chart."]])
    const second = holdfast({ model, retry: HOURS, store })
    const [resumed] = await second.resume()
    resumed?.retryNow()
    await toWait(resumed ?? turn)
    resumed?.retryNow()
    assert.strictEqual((await resumed?.result)?.status, "completed")
    assert.deepStrictEqual(requests[0]?.messages[0]?.content, prompt)
    assert.strictEqual((await second.turn([prompt[0], { ...png }], { id: "t1" }).result).status, "completed")
    const other = second.turn([prompt[0], { ...png, data: "AAAA" }], { id: "t1" })
    await assertRejects(other.result, "with another prompt")
  })

  it("of a tool's result reach the model, and no event but its message has their bytes", async () => {
    const { model, requests } = scripted([
      [
        { type: "tool-call", toolCallId: "a", toolName: "look", input: {} },
        { type: "finish", finishReason: "tool-calls" }
      ],
      ["A page."]
    ])
    const tools = { look: tool({ execute: () => toolContent("The page:", png) }) }
    const turn = holdfast({ model, tools, retry: AT_ONCE }).turn("Look")
    const events = await all(turn)
    const [result] = requests[1]?.messages.at(-1)?.content ?? []
    assert.deepStrictEqual(result?.type === "tool-result" ? result.content : undefined, [
      { type: "text", text: "The page:" },
      png
    ])
    const having = events.filter((event) => JSON.stringify(event).includes(png.data))
    assert.deepStrictEqual(typesOf(having), ["message"])
  })

  it("are refused where they are none, with the part and the reason", () => {
    const turn = () => holdfast({ model: scripted([]).model }).turn([{ ...png, data: "no" }])
    assert.throws(turn, /prompt: expected the file's bytes as base64[^]*\[0\]\["data"\]/)
  })
})

describe("a turn", () => {
  it("waits through an outage and answers once", async () => {
    const { model, requests } = scripted([failure(529), failure(502), ["Still ", "here."]])
    const turn = holdfast({ model, retry: AT_ONCE }).turn("Are you there?")
    const events = await all(turn)
    const result = await turn.result
    assert.deepInclude(result, { status: "completed", text: "Still here.", attempts: 3, steps: 1 })
    assert.strictEqual(requests.length, 3)
    assert.deepStrictEqual(
      events.flatMap((event) => (event.type === "text-delta" ? [event.delta] : [])).join(""),
      "Still here."
    )
    assert.strictEqual(typesOf(events).filter((type) => type === "provider-retry").length, 2)
    assert.strictEqual(events.at(-1)?.type, "turn-end")
  })

  it("gives its events to a reader that comes late, and to two readers", async () => {
    const turn = holdfast({ model: scripted([["Hi"]]).model }).turn("Hello")
    const [first, second] = await Promise.all([all(turn), all(turn)])
    assert.deepStrictEqual(first, second)
    assert.deepStrictEqual(await all(turn), first)
  })

  it("rule D4: fails after content, and does not call again", async () => {
    const { model, requests } = scripted([["Half an ans", failure(502)], ["Never"]])
    const result = await holdfast({ model, retry: AT_ONCE }).turn("Hello").result
    assert.strictEqual(result.status, "failed")
    assert.strictEqual(requests.length, 1)
  })

  it("rule X7: `discard` voids what was shown, and tries again", async () => {
    const { model } = scripted([["Half an ans", failure(502)], ["Whole"]])
    const turn = holdfast({ model, retry: { ...AT_ONCE, midStream: "discard" } }).turn("Hello")
    const types = typesOf(await all(turn))
    assert.deepStrictEqual(types.slice(types.indexOf("text-delta")), [
      "text-delta",
      "step-discarded",
      "provider-retry",
      "step-start",
      "text-delta",
      "retry-end",
      "message",
      "turn-end"
    ])
    assert.deepInclude(await turn.result, { status: "completed", text: "Whole", attempts: 2 })
  })

  it("rule X7: `unseen` tries again while no reader and no listener has received any of it", async () => {
    const started = (setting: object = {}) => {
      const { model } = scripted([["Half an ans", failure(502)], ["Whole"]])
      return { hf: holdfast({ model, retry: { ...AT_ONCE, midStream: "unseen" }, ...setting }) }
    }
    const unread = started().hf.turn("Hello")
    assert.deepInclude(await unread.result, { status: "completed", text: "Whole" })
    const late = await all(unread)
    assert.strictEqual(late.flatMap((event) => (event.type === "text-delta" ? [event.delta] : [])).join(""), "Whole")
    const waiting = started().hf
    waiting.on("provider-retry", () => {})
    assert.deepInclude(await waiting.turn("Hello").result, { status: "completed" })
    const { hf } = started()
    hf.on("text-delta", () => {})
    assert.deepInclude(await hf.turn("Hello").result, { status: "failed" })
    const read = started().hf.turn("Hello")
    const events = all(read)
    assert.deepInclude(await read.result, { status: "failed" })
    assert.notInclude(typesOf(await events), "step-discarded")
  })

  it("takes a response of events without a finish as cut", async () => {
    const { model } = scripted([[{ type: "text-delta", delta: "Hi" }]])
    assert.strictEqual((await holdfast({ model, retry: AT_ONCE }).turn("Hello").result).status, "failed")
  })

  it("rule X8: a tool with confirm runs once the program has approved the call; a refused one is a failed call", async () => {
    const ran: Array<unknown> = []
    const call = (toolCallId: string): ModelEvent => ({
      type: "tool-call",
      toolCallId,
      toolName: "send",
      input: toolCallId
    })
    const { model, requests } = scripted([
      [call("one"), call("two"), { type: "finish", finishReason: "tool-calls" }],
      ["Sent."]
    ])
    const tools = { send: tool({ confirm: true, execute: (input) => void ran.push(input) }) }
    const hf = holdfast({ model, tools, retry: HOURS })
    const turn = hf.turn("Send them.")
    for await (const event of turn) {
      if (event.type !== "provider-retry") continue
      assert.deepStrictEqual(ran, [])
      const [asked] = event.asks?.calls ?? []
      assert.strictEqual(turn.waiting?.asks?.because, "tools")
      assert.isFalse(turn.retryNow())
      assert.isFalse(turn.approveTool("three"))
      assert.isTrue(asked?.toolCallId === "one" ? turn.approveTool("one") : turn.refuseTool("two", "Not that one."))
    }
    assert.strictEqual((await turn.result).status, "completed")
    assert.deepStrictEqual(ran, ["one"])
    const results = requests[1]?.messages.flatMap((message) => (message.role === "tool" ? message.content : []))
    assert.deepStrictEqual(
      results?.map(({ isError, output }) => [isError, output]),
      [
        [false, null],
        [true, "A person refused this call: Not that one."]
      ]
    )
    assert.isFalse(turn.approveTool("one"))
  })

  it("runs tools and gives their results to the model", async () => {
    const call = (city: string, toolCallId: string): ModelEvent => ({
      type: "tool-call",
      toolCallId,
      toolName: "weather",
      input: { city }
    })
    const { model, requests } = scripted([
      [call("Bergen", "1"), call("", "2"), call("Atlantis", "3"), { type: "finish", finishReason: "tool-calls" }],
      ["It rains."]
    ])
    const weather = tool({
      description: "The weather in a city",
      parse: (input) => {
        const { city } = input as { city: string }
        if (city === "") throw new Error("city is empty")
        return { city }
      },
      execute: async ({ city }) => {
        if (city === "Atlantis") throw new Error("under water")
        return { city, sky: "grey" }
      }
    })
    const result = await holdfast({ model, tools: { weather } }).turn("How is the weather?").result
    assert.deepInclude(result, { status: "completed", text: "It rains.", steps: 2 })
    const outputs = requests[1]?.messages.flatMap((message) => (message.role === "tool" ? message.content : []))
    assert.deepStrictEqual(
      outputs?.map(({ output, isError }) => [output, isError]),
      [
        [{ city: "Bergen", sky: "grey" }, false],
        ["The arguments of this call do not fit: city is empty", true],
        ["The tool failed: under water", true]
      ]
    )
    assert.deepInclude(requests[0]?.tools[0], { name: "weather", description: "The weather in a city" })
  })

  it("continues a conversation, one turn after the other", async () => {
    const { model, requests } = scripted([["One"], ["Two"]])
    const hf = holdfast({ model })
    const turns = [hf.turn("First", { conversation: "c" }), hf.turn("Second", { conversation: "c" })]
    await Promise.all(turns.map(({ result }) => result))
    assert.deepStrictEqual(
      requests[1]?.messages.map(({ content, role }) => [
        role,
        content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      ]),
      [
        ["user", ["First"]],
        ["assistant", ["One"]],
        ["user", ["Second"]]
      ]
    )
  })

  it("is the same turn under the same id, and not another", async () => {
    const store = memoryStore()
    const { model, requests } = scripted([["Hi"]])
    const hf = holdfast({ model, store })
    assert.strictEqual(hf.turn("Hello", { id: "t" }), hf.turn("Hello", { id: "t" }))
    await hf.turn("Hello", { id: "t" }).result
    const again = holdfast({ model, store }).turn("Hello", { id: "t" })
    assert.deepInclude(await again.result, { status: "completed", text: "Hi" })
    assert.strictEqual(requests.length, 1)
    const other = await holdfast({ model, store })
      .turn("Bye", { id: "t" })
      .result.catch((error: unknown) => error)
    assert.propertyVal(other, "code", "turn-conflict")
  })
})

describe("commands", () => {
  const waiting = async (script: Script = [failure(529), ["Hi"]]) => {
    const { model, requests } = scripted(script)
    const errors: Array<unknown> = []
    const hf = holdfast({ model, retry: HOURS, target: "a/m", onListenerError: (error) => errors.push(error) })
    const turn = hf.turn("Hello")
    const retry = await toWait(turn)
    return { errors, hf, requests, retry, turn }
  }

  it("rule X4: retryNow makes the next attempt at once", async () => {
    const { retry, turn } = await waiting()
    assert.strictEqual(turn.waiting?.retryAt.getTime(), retry.retryAt)
    assert.strictEqual(turn.waiting?.message, "Overloaded")
    assert.isTrue(turn.retryNow())
    assert.deepInclude(await turn.result, { status: "completed", text: "Hi" })
    assert.isFalse(turn.retryNow())
    assert.isUndefined(turn.waiting)
  })

  it("rule X4: switchTo goes to another model, retryAt moves the wait, and extend keeps it", async () => {
    const { requests, turn } = await waiting()
    assert.isTrue(turn.extend(60_000))
    const later = new Date(Date.now() + 3_600_000)
    const moved = (async () => {
      for await (const event of turn) if (event.type === "provider-retry" && event.retryAt === later.getTime()) return
    })()
    assert.isTrue(turn.retryAt(later), "the wait continues behind the extension")
    await moved
    assert.strictEqual(turn.waiting?.retryAt.getTime(), later.getTime())
    assert.isTrue(turn.switchTo("b/n"))
    assert.deepInclude(await turn.result, { status: "completed" })
    assert.deepStrictEqual(requests[1]?.target, { provider: "b", model: "n" })
    assert.throws(() => turn.switchTo("nothing"), /provider\/model/)
  })

  it("rule D5: a listener that extends the budget, or moves the wait to its end, at each provider-retry gets one", async () => {
    const { hf, turn } = await waiting()
    const seven = new Date(Date.now() + 3_600_000)
    const announced: Array<number> = []
    hf.on("provider-retry", ({ retryAt }) => {
      announced.push(retryAt)
      if (announced.length > 9) return
      turn.extend(1_000)
      turn.retryAt(seven)
    })
    turn.retryAt(seven)
    for (let n = 0; n < 200; n++) await new Promise(setImmediate)
    assert.deepStrictEqual(announced, [seven.getTime()])
    turn.retryNow()
    assert.deepInclude(await turn.result, { status: "completed" })
  })

  it("rule P18: giveUp ends the wait, and listeners get its retry-end", async () => {
    const { errors, hf, turn } = await waiting()
    const ends: Array<TurnEvent> = []
    const unsubscribe = hf.on("retry-end", (event) => ends.push(event))
    hf.on("retry-end", () => {
      throw new Error("A listener of the test throws.")
    })
    assert.isTrue(hf.isRetrying)
    hf.abortRetry()
    assert.strictEqual((await turn.result).status, "failed")
    assert.deepInclude(ends[0], { success: false, finalError: "Retry cancelled" })
    assert.isFalse(hf.isRetrying)
    unsubscribe()
    assert.strictEqual(errors.length, 1)
    assert.strictEqual(ends.length, 1)
  })

  it("rule P15: without auto-retry a failure ends the turn", async () => {
    const { model, requests } = scripted([failure(529), ["Hi"]])
    const hf = holdfast({ model, retry: AT_ONCE })
    hf.autoRetry = false
    assert.strictEqual((await hf.turn("Hello").result).status, "failed")
    assert.strictEqual(requests.length, 1)
  })

  it("an abort, or an aborted signal, ends a wait and leaves nothing behind", async () => {
    const { turn } = await waiting()
    turn.abort()
    assert.strictEqual((await turn.result).status, "aborted")
    const controller = new AbortController()
    const { model } = scripted([failure(529)])
    const second = holdfast({ model, retry: HOURS }).turn("Hello", { signal: controller.signal })
    await toWait(second)
    controller.abort()
    assert.strictEqual((await second.result).status, "aborted")
    const third = holdfast({ model, retry: HOURS }).turn("Hello", { signal: controller.signal })
    assert.strictEqual((await third.result).status, "aborted")
  })
})

describe("another process", () => {
  afterEach(() => void vi.restoreAllMocks())

  it("rule X1: resumes a turn in its wait, with its attempts", async () => {
    const store = memoryStore()
    const { model, requests } = scripted([failure(529), ["Hi"]])
    const first = holdfast({ model, retry: HOURS, store })
    const turn = first.turn("Hello", { id: "t" })
    const { retryAt } = await toWait(turn)
    await first.close()
    assert.propertyVal(await turn.result.catch((error: unknown) => error), "code", "closed")

    const second = holdfast({ model, retry: HOURS, store })
    const [again] = await second.resume()
    assert.isDefined(again)
    if (again === undefined) return
    assert.deepStrictEqual(await second.resume(), [])
    assert.strictEqual((await toWait(again)).retryAt, retryAt)
    again.retryNow()
    assert.deepInclude(await again.result, { status: "completed", text: "Hi", attempts: 2 })
    assert.strictEqual(requests.length, 2)
    assert.deepStrictEqual(await holdfast({ model, store }).resume(), [])
  })

  it("rule X1: parks each wait until the moment of its event, and continues when it is resumed", async () => {
    let now = 1_800_000_000_000
    vi.spyOn(Date, "now").mockImplementation(() => now++) // a slow machine: each look at the clock is later
    const store = memoryStore()
    const { model } = scripted([failure(529), ["Hi"]])
    const parked: Array<{ readonly id: string; readonly retryAt: Date }> = []
    const options: Options = { model, retry: HOURS, store, park: (one) => parked.push(one) }
    const turn = holdfast(options).turn("Hello", { id: "t" })
    const result = await turn.result
    const { retryAt } = await toWait(turn)
    assert.deepStrictEqual(result, { status: "parked", retryAt: new Date(retryAt) })
    assert.deepStrictEqual(parked, [{ id: "t", retryAt: new Date(retryAt) }])
    const [again] = await holdfast(options).resume()
    assert.deepStrictEqual(await again?.result, result, "its time has not come")
  })

  /** A store that refuses every write after the first ones. */
  const dyingAfter = (store: Store, writes: number): Store => ({
    ...store,
    put: async (key, value) => {
      if (writes-- <= 0) throw new Error("the disk is full")
      await store.put(key, value)
    }
  })

  it("rule X1: a turn that dies at any write comes to the same end, and shows nothing twice", async () => {
    const script: Script = [
      failure(529),
      [
        { type: "tool-call", toolCallId: "1", toolName: "once", input: {} },
        { type: "finish", finishReason: "tool-calls" }
      ],
      failure(503),
      ["The ", "answer."]
    ]
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(14), { maxLength: 4 }), async (deaths) => {
        const store = memoryStore()
        let runs = 0
        const tools = { once: tool({ idempotent: true, execute: () => ++runs }) }
        const { model } = scripted(script)
        for (const writes of deaths) {
          const hf = holdfast({ model, tools, retry: AT_ONCE, store: dyingAfter(store, writes) })
          const outcome = await hf.turn("Hello", { id: "t" }).result.catch((error: unknown) => error)
          if (outcome instanceof Error) assert.propertyVal(outcome, "name", "HoldfastError")
        }
        const turn = holdfast({ model, tools, retry: AT_ONCE, store }).turn("Hello", { id: "t" })
        const result = await turn.result
        assert.deepInclude(result, { status: "completed", text: "The answer." })
        const events = await all(turn)
        const numbers = typesOf(events).filter((type) => type === "turn-end" || type === "turn-start")
        assert.deepStrictEqual(numbers, ["turn-start", "turn-end"])
      }),
      { numRuns: 60 }
    )
  })
})

describe("options", () => {
  const model = scripted([["Hi"]]).model
  const refuses = (act: () => unknown, pattern: RegExp) => assert.throws(act, pattern)

  it("name what is wrong with them", () => {
    refuses(() => holdfast({ model: 1 as never }), /^model: expected a function/)
    refuses(() => holdfast({ model: "nothing" }), /^model: "nothing" is no model, expected "provider\/model"/)
    refuses(() => holdfast({ model: "unknown/m" }), /^model: "unknown" is no known provider. Known: anthropic, openai/)
    refuses(() => holdfast({ model: "openai/gpt-5", env: {} }), /^model: "openai" needs a key in OPENAI_API_KEY\.$/)
    refuses(() => holdfast({ model, retry: { maxRetries: -1 } }), /^retry: [^]*maxRetries/)
    refuses(() => holdfast({ model, retry: { profile: "tonight" as never } }), /^retry: [^]*profile/)
    refuses(() => holdfast({ model, target: "gpt" }), /^target: "gpt"/)
    const misspelt = { model, retries: "overnight" }
    refuses(
      () => holdfast(misspelt),
      /^"retries" is no known option. Known: model, target, env, tools, retry, store, park, onListenerError\.$/
    )
    refuses(() => holdfast({ model }).turn("Hello", { id: "no id" }), /^id: "no id"/)
    refuses(() => holdfast({ model }).turn("Hello", { model: "gpt" }), /^model: "gpt"/)
  })

  it("of a closed library start no turn", async () => {
    const hf = holdfast({ model })
    await hf.close()
    refuses(() => hf.turn("Hello"), /closed/)
  })
})
