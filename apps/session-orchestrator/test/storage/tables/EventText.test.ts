import { describe, expect, it } from "@effect/vitest"
import { Turn } from "@holdfast/kernel"
import { Ids, type TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import * as EventText from "../../../src/storage/tables/EventText.ts"
import * as NumberedData from "../NumberedData.ts"
import * as Law from "../../Law.ts"

const originOf = ({ conversationId, turnId, type }: TurnEvent.PersistedEvent): EventText.Origin => ({
  conversationId,
  turnId,
  type
})

const packed = (event: TurnEvent.PersistedEvent, opening?: EventText.Opening) =>
  EventText.pack(JSON.stringify(event), originOf(event), opening)

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/)
const identity = fc.record({
  conversationId: id.map((id) => Ids.ConversationId.make(id)),
  turnId: id.map((id) => Ids.TurnId.make(id))
})
/** Texts that a turn's rows may hold, and texts that look like them. */
const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom("", "\0", "\ud800", '"}}', "\n,"))

const event: fc.Arbitrary<TurnEvent.PersistedEvent> = fc
  .tuple(identity, id, fc.nat({ max: 999_999_999 }), text, fc.nat())
  .chain(([of, other, n, text, at]) => {
    const { turnId } = of
    const content = [{ type: "text" as const, text }]
    const message = { role: "user" as const, id: Ids.messageIdOf(turnId, n), turnId, createdAt: at, content }
    return fc.constantFrom<TurnEvent.PersistedEvent>(
      { ...of, type: "usage", step: n, usage: {} },
      { ...of, type: "tool-call", toolCallId: text, toolName: text, input: { text } },
      { ...of, type: "message", message },
      { type: "message", ...of, message },
      { ...of, type: "message", message: { ...message, id: Ids.messageIdOf(Ids.TurnId.make(other), n) } },
      { ...of, type: "message", message: { ...message, turnId: Ids.TurnId.make(other) } },
      ...Turn.firstEvents({ ...of, startedAt: at }),
      ...Turn.firstEvents({ ...of, startedAt: at, prompt: text })
    )
  })

const opening = fc.option(fc.record({ acceptedAt: fc.nat(), prompt: fc.option(text, { nil: undefined }) }), {
  nil: undefined
})

describe("EventText", () => {
  it("a packed event comes back unchanged to the byte", () =>
    Law.holdsWith(
      { numRuns: 1_000 },
      [event, opening],
      (event, opening) =>
        void expect(EventText.unpack(packed(event, opening), originOf(event), opening)).toBe(JSON.stringify(event))
    ))

  it("a turn's first event is stored as its row alone, with a prompt and without", () => {
    for (const prompt of ["Hi", "", "\u{1f6f6}\n", undefined]) {
      const { acceptedAt, conversationId, turnId } = NumberedData.turn(1, 1)
      const said = { conversationId, turnId, startedAt: acceptedAt, ...(prompt === undefined ? {} : { prompt }) }
      for (const event of Turn.firstEvents(said)) expect(packed(event, { acceptedAt, prompt })).toBe("")
    }
  })

  it("a prompt with files is stored as its rows alone, and comes back unchanged to the byte", () => {
    const { acceptedAt, conversationId, turnId } = NumberedData.turn(1, 1)
    const { content = [{ type: "text", text: "" }], prompt } = NumberedData.withImage
    const [, event] = Turn.firstEvents({ conversationId, turnId, startedAt: acceptedAt, prompt: content })
    const rows = { acceptedAt, prompt, content: JSON.stringify(content) }
    expect(event && packed(event, rows)).toBe("")
    expect(event && EventText.unpack("", originOf(event), rows)).toBe(JSON.stringify(event))
    // Other parts than those of its row stay in the event.
    expect(event && packed(event, { ...rows, content: "[]" })).toContain("iVBORw0KGgo=")
  })

  it("a prompt that a text column would change stays in its event", () => {
    for (const prompt of ["\0", "half a \ud83d"]) {
      const { acceptedAt, conversationId, turnId } = NumberedData.turn(1, 1)
      const [, message] = Turn.firstEvents({ conversationId, turnId, startedAt: acceptedAt, prompt })
      expect(message && packed(message, { acceptedAt, prompt })).toContain(JSON.stringify(prompt))
    }
  })

  // These forms are in existing databases: the right-hand sides are never edited (T2).
  it("every form is written, and is read in all later versions", () => {
    const of = { conversationId: Ids.ConversationId.make("c-1"), turnId: Ids.TurnId.make("t-1") }
    const opening = { acceptedAt: 5, prompt: 'say "hi"' }
    const ids = '{"conversationId":"c-1","turnId":"t-1","type":'
    const forms: ReadonlyArray<readonly [type: string, packed: string, opening: EventText.Opening, json: string]> = [
      ["turn-start", "", opening, '{"conversationId":"c-1","turnId":"t-1","type":"turn-start","startedAt":5}'],
      ["turn-start", "", { acceptedAt: 5, prompt: undefined }, `${ids}"turn-start","startedAt":5,"retry":true}`],
      [
        "message",
        "",
        opening,
        '{"conversationId":"c-1","turnId":"t-1","type":"message","message":{"role":"user","id":"t-1.0","turnId":"t-1",' +
          '"createdAt":5,"content":[{"type":"text","text":"say \\"hi\\""}]}}'
      ],
      [
        "message",
        'assistant.12,"createdAt":6,"content":[]}',
        opening,
        '{"conversationId":"c-1","turnId":"t-1","type":"message","message":{"role":"assistant","id":"t-1.12",' +
          '"turnId":"t-1","createdAt":6,"content":[]}}'
      ],
      ["message", ',"message":{"role":"tool"}}', opening, `${ids}"message","message":{"role":"tool"}}`],
      ["usage", ',"step":0}', opening, '{"conversationId":"c-1","turnId":"t-1","type":"usage","step":0}'],
      ["usage", '{"type":"usage"}', opening, '{"type":"usage"}']
    ]
    for (const [type, packed, opening, json] of forms) {
      expect(EventText.unpack(packed, { ...of, type }, opening)).toBe(json)
      expect(EventText.pack(json, { ...of, type }, opening)).toBe(packed)
    }
  })
})
