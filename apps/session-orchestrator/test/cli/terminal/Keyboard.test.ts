import { describe, expect, it } from "vitest"
import * as fc from "fast-check"
import { EventEmitter } from "node:events"
import * as Keyboard from "../../../src/cli/terminal/Keyboard.ts"

/** A terminal and a process, as far as a keyboard uses them. */
const given = (over: { isTTY?: boolean; readableEnded?: boolean; isForeground?: boolean } = {}) => {
  const keys = new EventEmitter()
  const signals = new EventEmitter()
  const sent: Array<string> = []
  const is = { raw: false, flowing: false, foreground: over.isForeground ?? true }
  const input: Keyboard.Input = {
    isTTY: over.isTTY ?? true,
    readableEnded: over.readableEnded ?? false,
    destroyed: false,
    setRawMode: (isRaw) => (is.raw = isRaw),
    on: (event, listener) => keys.on(event, listener),
    off: (event, listener) => keys.off(event, listener),
    resume: () => (is.flowing = true),
    pause: () => (is.flowing = false)
  }
  const keyboard = Keyboard.make(
    input,
    {
      on: (signal, listener) => signals.on(signal, listener),
      off: (signal, listener) => signals.off(signal, listener),
      send: (signal, to) => sent.push(`${signal} to ${to}, ${is.raw ? "raw" : "as found"}`)
    },
    () => is.foreground
  )
  return {
    keyboard,
    is,
    sent,
    type: (text: string) => keys.emit("data", Buffer.from(text)),
    signal: (signal: string) => signals.emit(signal, signal),
    isFree: () => keys.eventNames().length === 0 && signals.eventNames().length === 0
  }
}

describe("Keyboard", () => {
  it("K3: some keys stand for signals, as bytes and as text, and no other does", () => {
    const text = "a\u0003b\u001c\u001a\u0004\u001b\u0019\u001d\u0002"
    expect(Keyboard.signalsIn(text)).toEqual(["SIGINT", "SIGQUIT", "SIGTSTP"])
    expect(Keyboard.signalsIn(Buffer.from(text))).toEqual(["SIGINT", "SIGQUIT", "SIGTSTP"])
  })

  it("K1: a terminal is as it was found after release, whatever is called how often", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("hold", "release", "SIGCONT", "\u001a", "x")), (acts) => {
        const terminal = given()
        for (const act of acts) {
          if (act === "hold" || act === "release") terminal.keyboard[act]()
          else if (act === "SIGCONT") terminal.signal(act)
          else terminal.type(act)
        }
        terminal.keyboard.release()
        expect(terminal.is).toMatchObject({ raw: false, flowing: false })
        expect(terminal.isFree()).toBe(true)
      })
    )
  })

  it("K1: a signal that ends the process finds the terminal as it was", () => {
    for (const signal of ["SIGHUP", "SIGQUIT"]) {
      const terminal = given()
      terminal.keyboard.hold()
      expect(terminal.is.raw).toBe(true)
      terminal.signal(signal)
      expect(terminal.sent).toEqual([`${signal} to process, as found`])
      expect(terminal.isFree()).toBe(true)
    }
  })

  it("K1: can be held again after its release, and after a signal that did not end the process", () => {
    const terminal = given()
    for (const end of [() => terminal.keyboard.release(), () => terminal.signal("SIGHUP")]) {
      terminal.keyboard.hold()
      expect(terminal.is).toMatchObject({ raw: true, flowing: true })
      end()
      expect(terminal.is).toMatchObject({ raw: false, flowing: false })
      expect(terminal.isFree()).toBe(true)
    }
    terminal.keyboard.hold()
    expect(terminal.is.raw).toBe(true)
  })

  it("K2: nothing is held that is no terminal, was read to its end, or is in another's foreground", () => {
    for (const over of [{ isTTY: false }, { readableEnded: true }, { isForeground: false }]) {
      const terminal = given(over)
      terminal.keyboard.hold()
      expect(terminal.is).toMatchObject({ raw: false, flowing: false })
    }
  })

  it("K3: Escape and Enter do nothing; Ctrl-C, Ctrl-\\ and Ctrl-Z are the signals that they are elsewhere", () => {
    const terminal = given()
    terminal.keyboard.hold()
    terminal.type("\u001b\r\n\u001b[Ahello")
    expect(terminal.sent).toEqual([])
    terminal.type("\u0003")
    expect(terminal.sent).toEqual(["SIGINT to group, raw"])
    terminal.type("\u001a")
    expect(terminal.sent.at(-1)).toBe("SIGTSTP to group, as found")
    terminal.signal("SIGCONT")
    expect(terminal.is.raw).toBe(true)
    terminal.type("\u001c")
    expect(terminal.sent.at(-1)).toBe("SIGQUIT to group, as found")
  })

  it("K2: a group in the background is told from the terminal's own", () => {
    expect(Keyboard.isInForeground("12 (no) de)) S 1 12 5 34816 12 4194304")).toBe(true)
    expect(Keyboard.isInForeground("12 (node) S 1 12 5 34816 5 4194304")).toBe(false)
    expect(Keyboard.isInForeground(undefined)).toBe(true)
  })
})
