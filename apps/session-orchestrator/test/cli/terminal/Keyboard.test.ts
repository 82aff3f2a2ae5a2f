import { describe, expect, it } from "vitest"
import * as fc from "fast-check"
import { EventEmitter } from "node:events"
import * as Keyboard from "../../../src/cli/terminal/Keyboard.ts"

/** The parts of a terminal and a process that a keyboard uses. */
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
  it("Keyboard.K3: some keys stand for signals, as bytes and as text, and no other keys", () => {
    const text = "a\u0003b\u001c\u001a\u0004\u001b\u0019\u001d\u0002"
    expect(Keyboard.signalsIn(text)).toEqual(["SIGINT", "SIGQUIT", "SIGTSTP"])
    expect(Keyboard.signalsIn(Buffer.from(text))).toEqual(["SIGINT", "SIGQUIT", "SIGTSTP"])
  })

  it("Keyboard.K1: after release a terminal is as before, for any number and order of calls", () => {
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

  it("Keyboard.K1: the terminal is restored before a signal ends the process", () => {
    for (const signal of ["SIGHUP", "SIGQUIT"]) {
      const terminal = given()
      terminal.keyboard.hold()
      expect(terminal.is.raw).toBe(true)
      terminal.signal(signal)
      expect(terminal.sent).toEqual([`${signal} to process, as found`])
      expect(terminal.isFree()).toBe(true)
    }
  })

  it("Keyboard.K1: can be held again after its release, and after a signal that did not end the process", () => {
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

  it("Keyboard.K2: input is not held if it is no terminal, has ended, or another group is in the foreground", () => {
    for (const over of [{ isTTY: false }, { readableEnded: true }, { isForeground: false }]) {
      const terminal = given(over)
      terminal.keyboard.hold()
      expect(terminal.is).toMatchObject({ raw: false, flowing: false })
    }
  })

  it("Keyboard.K3: Escape and Enter do nothing; Ctrl-C, Ctrl-\\ and Ctrl-Z send their usual signals", () => {
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

  it("Keyboard.K2: a group in the background is recognised", () => {
    expect(Keyboard.isInForeground("12 (no) de)) S 1 12 5 34816 12 4194304")).toBe(true)
    expect(Keyboard.isInForeground("12 (node) S 1 12 5 34816 5 4194304")).toBe(false)
    expect(Keyboard.isInForeground(undefined)).toBe(true)
  })
})
