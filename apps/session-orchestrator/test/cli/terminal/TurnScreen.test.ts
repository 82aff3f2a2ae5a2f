import { describe, expect, it } from "@effect/vitest"
import * as TurnScreen from "../../../src/cli/terminal/TurnScreen.ts"
import type { Output, Tone } from "../../../src/cli/terminal/TurnView.ts"
import * as Recorder from "../Recorder.ts"

const answer = (text: string): Output => ({ _tag: "Answer", text })
const line = (text: string, tone: Tone = "notice"): Output => ({ _tag: "Line", tone, text })

/** A screen, and the output since the last call. */
const make = (isTerminal = true, environment: Record<string, string> = { NO_COLOR: "1" }) => {
  const recorder = Recorder.make({ stdout: isTerminal, stderr: isTerminal }, environment, 10)
  let columns = 10
  const screen = TurnScreen.make({ ...recorder.terminal, columns: () => columns })
  let before = 0
  const news = (): string => {
    const all = recorder.all()
    const rest = all.slice(before)
    before = all.length
    return rest
  }
  return { ...screen, news, recorder, resize: (to: number) => void (columns = to) }
}

describe("a screen", () => {
  it("TurnScreen.W1: repaints the status lines when they have changed, and erases them before other output", () => {
    const { close, news, show, write } = make()
    show(["one"])
    expect(news()).toBe("one")
    show(["one"])
    expect(news()).toBe("")
    show(["one", "two"])
    expect(news()).toBe("\r\u001b[Jone\ntwo")
    write([])
    expect(news()).toBe("")
    write([answer("a"), line("said")])
    expect(news()).toBe("\r\u001b[1A\u001b[Ja\nsaid\n")
    show([])
    expect(news()).toBe("")
    show(["three"])
    show([])
    show(["four"])
    close()
    expect(news()).toBe("three\r\u001b[Jfour\r\u001b[J")
  })

  it("TurnScreen.W1: counts the rows of lines in the current window", () => {
    const { news, resize, show } = make()
    show(["x".repeat(10), "y".repeat(10), ""])
    news()
    resize(5)
    show([])
    expect(news()).toBe("\r\u001b[4A\u001b[J")
    resize(10)
    show(["x".repeat(10), "y".repeat(10)])
    news()
    resize(0)
    show([])
    expect(news()).toBe("\r\u001b[19A\u001b[J")
  })

  it("ends the answer's line before a line below it, and at the end, once", () => {
    const { close, news, show, write } = make()
    write([answer("a"), answer("b\n"), line("said")])
    expect(news()).toBe("ab\nsaid\n")
    write([answer("c")])
    show(["below"])
    expect(news()).toBe("c\nbelow")
    write([answer("d")])
    close()
    close()
    expect(news()).toBe("\r\u001b[Jd\n")
  })

  it("writes an answer without control characters to a terminal, and every byte to a file, in one piece", () => {
    const terminal = make()
    terminal.write([answer("a\u0007"), answer("\u0007")])
    terminal.close()
    expect(terminal.recorder.stdout()).toBe("a\n")
    const file = make(false)
    file.write([answer("a\u0007"), line("said"), answer("\u0007")])
    file.show(["below"])
    file.close()
    expect([file.recorder.stdout(), file.recorder.stderr()]).toEqual(["a\u0007\u0007\n", "said\n"])
  })

  it("colours a line by its tone, on one line", () => {
    const { news, show, write } = make(true, {})
    write([line("a\nb", "failure"), line("c", "aside"), line("d", "wait"), line("e")])
    show(["f"])
    const painted = (color: number, text: string) => `\u001b[${color}m${text}\u001b[0m`
    const all = [painted(31, "a b"), painted(2, "c"), painted(33, "d"), painted(33, "e"), painted(33, "f")]
    expect(news()).toBe(all.join("\n"))
  })
})
