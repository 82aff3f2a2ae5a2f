import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as SlashCommand from "../src/editor/SlashCommand.ts"
import * as Editor from "../src/editor/Editor.ts"
import * as Key from "../src/editor/Key.ts"
import * as KeyBindings from "../src/editor/KeyBindings.ts"
import * as Width from "../src/text/Width.ts"
import * as Hostile from "./Hostile.ts"

const control = fc.constantFrom<Key.Control>(
  "enter",
  "newline",
  "escape",
  "tab",
  "left",
  "right",
  "up",
  "down",
  "home",
  "end",
  "word-left",
  "word-right",
  "backspace",
  "delete",
  "kill-word",
  "kill-start",
  "kill-end",
  "yank",
  "cancel",
  "end-of-input"
)

const key: fc.Arbitrary<Key.KeyPress> = fc.oneof(
  { weight: 3, arbitrary: control.map((type) => ({ type })) },
  { weight: 2, arbitrary: Hostile.text.map((text) => ({ type: "paste" as const, text })) },
  {
    weight: 3,
    arbitrary: fc.string({ maxLength: 5, unit: "grapheme" }).map((text) => ({ type: "text" as const, text }))
  }
)

const typed = (text: string): Editor.Editor => Editor.insert(Editor.empty, text)
const pressed = (editor: Editor.Editor, ...types: ReadonlyArray<Key.Control>): Editor.Editor =>
  types.reduce((editor, type) => Editor.press(editor, { type }, 20), editor)

/** The places of a text between two clusters, line by line. */
const places = (text: string): ReadonlySet<number> => {
  const found = new Set<number>([0])
  let at = 0
  for (const line of text.split("\n")) {
    for (const cluster of Width.clusters(line)) found.add((at += cluster.length))
    found.add(++at)
  }
  return found
}

describe("Editor", () => {
  it("whatever is typed and pasted, the cursor is between two clusters and no control character is in the text", () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 30, size: "max" }), fc.integer({ min: 10, max: 40 }), (keys, width) => {
        let editor = Editor.empty
        for (const pressed of keys) {
          editor = Editor.press(editor, pressed, width)
          expect(editor.text).not.toMatch(Hostile.FORBIDDEN)
          expect(places(editor.text)).toContain(editor.cursor)
          const { column, row, rows } = Editor.layout(editor, width)
          expect(rows.join("")).toBe(editor.text.replaceAll("\n", ""))
          expect(column).toBeLessThan(width)
          expect(row).toBeLessThan(rows.length)
        }
      }),
      Hostile.RUNS
    )
  })

  it("what is typed without other keys is the text", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme-ascii" })), (texts) => {
        expect(texts.reduce(Editor.insert, Editor.empty).text).toBe(texts.join(""))
      })
    )
  })

  it("moves and cuts by words and lines, and puts back what was cut", () => {
    expect(pressed(typed("one two"), "word-left", "kill-start").text).toBe("two")
    expect(pressed(typed("one two"), "word-left", "kill-start", "end", "yank").text).toBe("twoone ")
    expect(pressed(typed("one two"), "kill-word").text).toBe("one ")
    expect(pressed(typed("a\nb"), "up", "end", "kill-end").text).toBe("ab")
    expect(pressed(typed("a\u{1f468}\u200d\u{1f469}"), "backspace").text).toBe("a")
  })

  it("the history is browsed, and the way down leads back to the new text", () => {
    const history = Editor.taken(Editor.withText(Editor.taken(typed("first")), "second"))
    const draft = Editor.insert(history, "draft")
    expect(pressed(draft, "up").text).toBe("second")
    expect(pressed(draft, "up", "up", "up").text).toBe("first")
    expect(pressed(draft, "up", "up", "down", "down").text).toBe("draft")
  })
})

const at = new Date(2031, 3, 1, 12, 0, 0)
const situation = (
  phase: KeyBindings.EditorSituation["phase"],
  lastEnd: KeyBindings.EditorSituation["lastEnd"] = undefined
): KeyBindings.EditorSituation => ({ phase, lastEnd, width: 40, now: at })
const phase = fc.constantFrom<KeyBindings.EditorSituation["phase"]>("idle", "running", "trying", "retrying")
const lastEnd = fc.constantFrom<KeyBindings.EditorSituation["lastEnd"]>(undefined, "completed", "failed", "aborted")
const withText = (text: string): KeyBindings.KeyState => ({ ...KeyBindings.initial, editor: typed(text) })
const actionsOf = (state: KeyBindings.KeyState, situation: KeyBindings.EditorSituation, type: Key.Control) =>
  KeyBindings.press(state, situation, { type })[1]

describe("Keyboard", () => {
  it("rule M2: Enter on an empty editor asks again only while idle after an error or an abort", () => {
    fc.assert(
      fc.property(phase, lastEnd, Hostile.text, (phase, lastEnd, text) => {
        const state = withText(text)
        const actions = actionsOf(state, situation(phase, lastEnd), "enter")
        const isExpected =
          state.editor.text === "" && phase === "idle" && (lastEnd === "failed" || lastEnd === "aborted")
        if (!text.trimStart().startsWith("/")) expect(actions.some(({ type }) => type === "retry")).toBe(isExpected)
      }),
      Hostile.RUNS
    )
  })

  it("rule P17: Esc cancels the retry of a wait, aborts a turn, and sends nothing otherwise", () => {
    fc.assert(
      fc.property(phase, lastEnd, Hostile.text, (phase, lastEnd, text) => {
        const [{ editor }, actions] = KeyBindings.press(withText(text), situation(phase, lastEnd), { type: "escape" })
        const expected = { retrying: ["abort-retry"], trying: ["abort"], running: ["abort"], idle: [] }
        expect(actions.map(({ type }) => type)).toEqual(expected[phase])
        expect(editor.text).toBe(phase === "idle" ? "" : typed(text).text)
      }),
      Hostile.RUNS
    )
  })

  it("no key loses text: it stays, is sent, is a command, or is in the history", () => {
    fc.assert(
      fc.property(
        phase,
        lastEnd,
        fc.lorem(),
        fc.constantFrom<Key.Control>("escape", "cancel", "enter"),
        (phase, lastEnd, text, type) => {
          const [{ editor }, actions] = KeyBindings.press(withText(text), situation(phase, lastEnd), { type })
          const isSent = actions.some((action) => action.type === "prompt" && action.text === text)
          expect(editor.text === text || isSent || editor.history.includes(text)).toBe(true)
        }
      )
    )
  })

  it("Ctrl-C clears, and leaves when it is pressed twice on an empty editor", () => {
    const [cleared, none] = KeyBindings.press(withText("text"), situation("idle"), { type: "cancel" })
    expect(none).toEqual([])
    const [armed, [notice]] = KeyBindings.press(cleared, situation("idle"), { type: "cancel" })
    expect(notice?.type).toBe("notice")
    expect(actionsOf(armed, situation("idle"), "cancel")).toEqual([{ type: "leave" }])
    const [disarmed] = KeyBindings.press(armed, situation("idle"), { type: "left" })
    expect(actionsOf(disarmed, situation("idle"), "cancel")[0]?.type).toBe("notice")
  })

  it("a backslash before Enter begins a new line", () => {
    expect(KeyBindings.press(withText("one\\"), situation("idle"), { type: "enter" })[0].editor.text).toBe("one\n")
  })

  it("a list is chosen from, and Esc closes it without another effect", () => {
    const list = KeyBindings.choosing(KeyBindings.initial, [
      { id: "a", title: "A" },
      { id: "b", title: "B" }
    ])
    const [second] = KeyBindings.press(list, situation("retrying"), { type: "down" })
    expect(actionsOf(second, situation("retrying"), "enter")).toEqual([{ type: "choose", id: "b" }])
    expect(KeyBindings.press(second, situation("retrying"), { type: "escape" })).toEqual([KeyBindings.initial, []])
  })

  it("/retry after an answer, or during a turn, explains why it does nothing", () => {
    expect(actionsOf(withText("/retry"), situation("idle", "failed"), "enter")).toEqual([{ type: "retry" }])
    expect(actionsOf(withText("/retry"), situation("idle", "completed"), "enter")[0]?.type).toBe("notice")
    expect(actionsOf(withText("/retry"), situation("retrying"), "enter")[0]?.type).toBe("notice")
  })
})

describe("Command", () => {
  const commandOf = (line: string): unknown => {
    const read = SlashCommand.read(line, at)
    return read._tag === "Command" ? read.command : read.message
  }

  it("reads every command of the help, and its arguments", () => {
    expect(commandOf("/now")).toEqual({ type: "now" })
    expect(commandOf("/wait 1h30m")).toEqual({ type: "wait", until: at.getTime() + 5_400_000 })
    expect(commandOf("/wait 14:30")).toEqual({ type: "wait", until: new Date(2031, 3, 1, 14, 30).getTime() })
    expect(commandOf("/wait 11:30")).toEqual({ type: "wait", until: new Date(2031, 3, 2, 11, 30).getTime() })
    expect(commandOf("/wait 2031-04-02T07:00Z")).toEqual({ type: "wait", until: Date.UTC(2031, 3, 2, 7) })
    expect(commandOf("/switch openai/gpt-5")).toEqual({ type: "switch", model: "openai/gpt-5" })
    expect(commandOf("/extend 2h")).toEqual({ type: "extend", byMs: 7_200_000 })
    expect(commandOf("/auto off")).toEqual({ type: "auto", enabled: false })
    expect(commandOf("/report 12h")).toEqual({ type: "report", since: at.getTime() - 43_200_000 })
    expect(commandOf("/sessions")).toEqual({ type: "conversations" })
    expect(commandOf("/approve all")).toEqual({ type: "approve", of: "all" })
    expect(commandOf("/refuse not now")).toEqual({ type: "refuse", of: "first", reason: "not now" })
    expect(commandOf("/refuse always")).toEqual({ type: "refuse", of: "always", reason: undefined })
    for (const { name } of SlashCommand.COMMANDS.filter(({ name }) => name !== "refuse"))
      expect(commandOf(`/${name} ?`)).toContain(`/${name}`)
  })

  it("a mistake is answered with what was expected", () => {
    expect(commandOf("/wat")).toContain("no command /wat")
    expect(commandOf("/wait soon")).toContain("expected a duration")
    expect(commandOf("/extend 0m")).toContain("expected a duration")
    expect(commandOf("/auto maybe")).toContain("on or off")
  })

  it("any text is a command or a mistake", () => {
    fc.assert(
      fc.property(Hostile.text, (text) => {
        expect(["Command", "Mistake"]).toContain(SlashCommand.read(`/${text}`, at)._tag)
      }),
      Hostile.RUNS
    )
  })
})

describe("Key", () => {
  it("text that is read at once keeps its line ends as keys", () => {
    expect(Key.ofInk("hi\r", {})).toEqual([{ type: "text", text: "hi" }, { type: "enter" }])
    expect(Key.ofInk("", { return: true })).toEqual([{ type: "enter" }])
    expect(Key.ofInk("", { return: true, shift: true })).toEqual([{ type: "newline" }])
    expect(Key.ofInk("c", { ctrl: true })).toEqual([{ type: "cancel" }])
    expect(Key.ofInk("q", { ctrl: true })).toEqual([])
    expect(Key.ofInk("x", { eventType: "release" })).toEqual([])
  })
})
