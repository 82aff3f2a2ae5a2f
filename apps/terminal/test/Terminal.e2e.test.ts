/** `holdfast chat` in a real pseudo-terminal, against the real service with a simulated provider. */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as TestToolServers from "../../../packages/mcp/testing/index.ts"
import { folder } from "../../../tools/src/bundleProgram.ts"
import * as Hostile from "./Hostile.ts"
import * as Pty from "./Pty.ts"

const MAIN = join(folder, "main.js")

/** Two retries fit into the budget: after 2 s, and after 12 min 30 s. */
const RETRY = {
  schedule: { type: "steps", delays: ["2 seconds"], tail: "750 seconds" },
  budget: "800 seconds"
}

let directory: string
let service: ChildProcess
let url: string
const open: Array<Pty.Pty> = []

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "terminal-"))
  const appending = { ...TestToolServers.unrulyEntry(), allow: ["append"], confirm: ["append"] }
  writeFileSync(
    join(directory, "holdfast.config.json"),
    JSON.stringify({ server: { port: 0 }, model: "simulated/steady+instant", retry: RETRY, tools: { appending } })
  )
  service = spawn(process.execPath, [MAIN, "serve"], {
    cwd: directory,
    env: { HOME: directory, PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "ignore"]
  })
  let banner = ""
  url = await new Promise((resolve) =>
    service.stdout?.setEncoding("utf8").on("data", (text: string) => {
      banner += text
      const [, address] = /listens on (http:\S+)/.exec(banner) ?? []
      if (address !== undefined) resolve(address)
    })
  )
})

afterAll(() => {
  service.kill("SIGKILL")
  rmSync(directory, { recursive: true, force: true })
})

afterEach(() => {
  for (const terminal of open.splice(0)) terminal.close()
})

/** Opens `holdfast chat`, and waits until it takes keys. */
const chat = async (args: ReadonlyArray<string>, options: Partial<Pty.PtyOptions> = {}): Promise<Pty.Pty> => {
  const terminal = Pty.open({ command: [process.execPath, MAIN, "chat", "--url", url, ...args], directory, ...options })
  open.push(terminal)
  // It reads keys as soon as it has asked for pastes in brackets.
  await terminal.until(() => terminal.bytes().includes(`${ESC}[?2004h`) && terminal.text().includes("/help"))
  return terminal
}

const countOf = (text: string, part: string): number => text.split(part).length - 1

/** In the palette of a terminal. */
const YELLOW = 3

const ENTER = "\r"
const ESC = "\u001b"
/** A call of another client; a turn is left to the service. */
const post = (path: string, body: object): Promise<Response> =>
  fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify(body)
  })

describe("the terminal", () => {
  it("rule P17: a wait counts down, Esc cancels it and then means what it meant, and a chain that fails is reported", async () => {
    const terminal = await chat(["--model", "simulated/529x*+instant"])
    terminal.type(`Are you there?${ENTER}`)
    // The first wait is short, and a busy machine may show nothing of it but its message; the second is long enough to be seen.
    await terminal.until("⚠ Overloaded (529), retrying in 2s…")
    await terminal.until(
      /⚠ Overloaded \(529\), retrying in 12m 30s…\n\s*\nRetrying \(2\/2\) in 12m [23]\ds… \(esc to cancel\)/
    )
    expect([terminal.colorOf("⚠ Overloaded"), terminal.colorOf("Retrying (2/2)")]).toEqual([YELLOW, YELLOW])
    await terminal.until(/Retrying \(2\/2\) in 12m 2[0-8]s… \(esc to cancel\)/)

    terminal.type(ESC)
    const cancelled = await terminal.until((text) => text.includes("Enter asks again"))
    expect(cancelled).toContain("Retry failed after 2 attempts: Retry cancelled")
    expect(cancelled).not.toContain("esc to cancel")

    // Idle again: Esc clears the line, and reaches no turn.
    terminal.type("draft")
    await terminal.until("> draft")
    terminal.type(ESC)
    await terminal.until((text) => !text.includes("> draft") && text.includes("Enter asks again"))

    // Rule M2: Enter on the empty line asks again, and shows no prompt for it.
    terminal.type(ENTER)
    const again = await terminal.until((text) => countOf(text, "Retrying (2/2)") === 1)
    expect(countOf(again, "> Are you there?")).toBe(1)
    terminal.type(`/now${ENTER}`)
    const failed = await terminal.until("Retry failed after 2 attempts: Overloaded")
    await terminal.until("Enter asks again")
    expect(failed).toContain("Retry failed after 2 attempts: Retry cancelled")

    // Outside a chain Esc aborts the turn.
    terminal.type(`simulate: stall${ENTER}`)
    await terminal.until("(esc to abort)")
    terminal.type(ESC)
    await terminal.until((text) => text.includes("Aborted.") && !text.includes("(esc to abort)"))

    // `/retry` is the same as Enter.
    terminal.type(`/retry${ENTER}`)
    await terminal.until("(esc to abort)")
    terminal.type(ESC)
    await terminal.until((text) => countOf(text, "Aborted.") === 2)
    terminal.type("\u0004")
    await terminal.until("left with 0")
    await terminal.until("isig icanon echo is the state")
  })

  it("a terminal that dies leaves the turn; another comes back to its wait, in any size, and a hostile model reaches neither cursor nor title", async () => {
    const evil = "evil\u001b]0;owned\u0007\u001b[2J\u001b[1;1H\u202e\u2066txet\u009b31m"
    const created = await post("/v1/conversations", { retry: { schedule: { type: "steps", delays: ["750 seconds"] } } })
    const { conversationId } = (await created.json()) as { readonly conversationId: string }
    const turns = `/v1/conversations/${conversationId}/turns`
    const first = await chat(["--conversation", conversationId])
    first.type(`Begin${ENTER}`)
    await first.until("Nothing failed this time.")
    first.kill("SIGKILL")
    await first.until("left with 137")

    // What another client asked, and a provider answered.
    const text = encodeURIComponent(`${evil} is down`)
    await post(turns, { prompt: `${evil} **bold** ${"wide 日本語 ".repeat(20)}` })
    await post(turns, { prompt: `Again ${evil}\nsimulate: 529;text=${text},ok` })
    const second = await chat(["--conversation", conversationId])
    await second.until("Retrying (1/1) in 12m")
    expect(second.text()).toContain("is down (529), retrying in")
    expect(second.titles).toEqual([])
    expect(second.bytes()).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u009b]/)
    expect(second.text().replaceAll("\n", "")).not.toMatch(Hostile.FORBIDDEN)
    // The cursor is in the editor, behind its mark.
    const { active } = second.terminal.buffer
    const row = active.getLine(active.baseY + active.cursorY)?.translateToString(true)
    expect([row?.trimEnd(), active.cursorX]).toEqual([">", 2])

    second.resize(40, 12)
    await second.until((text) =>
      text.split("\n").some((line) => /^Retrying \(1\/1\) in 12m \d+s… \(esc to$/.test(line.trim()))
    )
    second.resize(100, 30)
    await second.until((text) => /^Retrying \(1\/1\) in 12m \d+s… \(esc to cancel\)$/m.test(text))

    // Pasted lines are text, whatever they contain.
    second.type(`${ESC}[200~one\r\n/quit\r${ESC}[31mtwo${ESC}[201~`)
    await second.until(/> one\n {2}\/quit\n {2}\[31mtwo/)

    second.kill("SIGTERM")
    await second.until("left with 130")
    await second.until("isig icanon echo is the state")
    expect(second.text()).toContain(`holdfast chat --conversation ${conversationId}`)
    // The cursor is visible, and pastes are not bracketed any more.
    expect(second.bytes().lastIndexOf(`${ESC}[?25h`)).toBeGreaterThan(second.bytes().lastIndexOf(`${ESC}[?25l`))
    expect(second.bytes().lastIndexOf(`${ESC}[?2004l`)).toBeGreaterThan(second.bytes().lastIndexOf(`${ESC}[?2004h`))
  })

  it("rule X8: a tool call waits for approval, also for the next terminal, and runs once it is given, or without a question from then on", async () => {
    const file = join(directory, "appended")
    const gate = join(directory, "gate")
    writeFileSync(gate, "")
    const ran = (): number => (existsSync(file) ? countOf(readFileSync(file, "utf8"), "append") : 0)
    const ask = `Append it.\nsimulate: tool-call;name=append;input=${encodeURIComponent(JSON.stringify({ file, gate }))},ok`
    const created = await post("/v1/conversations", { model: "simulated/instant" })
    const { conversationId } = (await created.json()) as { readonly conversationId: string }
    const first = await chat(["--conversation", conversationId])
    await post(`/v1/conversations/${conversationId}/turns`, { prompt: ask })
    await first.until("/approve all · Esc refuses")
    first.kill("SIGKILL")
    await first.until("left with 137")
    expect(ran()).toBe(0)

    const second = await chat(["--conversation", conversationId])
    await second.until("/approve all · Esc refuses")
    second.type(`/approve${ENTER}`)
    await second.until("Approved: append")
    await second.until((text) => text.includes("Nothing failed this time.") && !text.includes("Esc refuses"))
    expect(ran()).toBe(1)

    await post(`/v1/conversations/${conversationId}/turns`, { prompt: `${ask} ` })
    await second.until("/approve all · Esc refuses")
    second.type(`/refuse not now${ENTER}`)
    await second.until((text) => text.includes("Refused: append") && countOf(text, "Nothing failed this time.") === 2)
    expect(ran()).toBe(1)

    await post(`/v1/conversations/${conversationId}/turns`, { prompt: `${ask}  ` })
    await second.until("/approve all · Esc refuses")
    second.type(`/approve always${ENTER}`)
    await second.until((text) => countOf(text, "Nothing failed this time.") === 3)
    await post(`/v1/conversations/${conversationId}/turns`, { prompt: `${ask}   ` })
    const text = await second.until((text) => countOf(text, "Nothing failed this time.") === 4)
    expect(countOf(text, "A person has to approve")).toBe(3)
    expect(ran()).toBe(3)
  })

  it("the terminal is left as it was, also after a crash", async () => {
    const crash = join(directory, "crash.mjs")
    writeFileSync(crash, `process.on("SIGUSR2", () => { throw new Error("a crash") })`)
    const terminal = await chat([], { env: { NODE_OPTIONS: `--import ${crash}`, NO_COLOR: "1" }, columns: 30, rows: 6 })
    terminal.type("not sent")
    await terminal.until("> not sent")
    // Rule of NO_COLOR: no colour was ever set.
    // oxlint-disable-next-line no-control-regex -- the sequence that sets one.
    expect(terminal.bytes()).not.toMatch(/\u001b\[(?:3\d|9\d|38;)[\d;]*m/)
    terminal.kill("SIGUSR2")
    await terminal.until("isig icanon echo is the state")
    expect(terminal.bytes().lastIndexOf(`${ESC}[?25h`)).toBeGreaterThan(terminal.bytes().lastIndexOf(`${ESC}[?25l`))
    expect(terminal.bytes().lastIndexOf(`${ESC}[?2004l`)).toBeGreaterThan(terminal.bytes().lastIndexOf(`${ESC}[?2004h`))
  })

  it("--plain writes line by line and repaints nothing", async () => {
    const program = spawn(
      process.execPath,
      [MAIN, "chat", "--plain", "--url", url, "--model", "simulated/529+instant"],
      {
        cwd: directory,
        env: { HOME: directory, PATH: process.env["PATH"] },
        stdio: ["pipe", "pipe", "pipe"]
      }
    )
    let out = ""
    program.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text
      if (out.includes("Retrying") && program.stdin.writable) program.stdin.end("/now\n")
    })
    const ended = new Promise((resolve) => program.once("close", resolve))
    program.stdin.write("Are you there?\n")
    expect(await ended).toBe(0)
    expect(out).toContain("⚠ Overloaded (529), retrying in 2s…\n")
    expect(out).toContain("Retrying (1/2) in 2s… (/giveup to cancel)\n")
    expect(out).toContain("outlive")
    // oxlint-disable-next-line no-control-regex -- nothing moves a cursor.
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  })

  /** `holdfast chat --plain` in a folder of its own, without a service that is named. */
  const plain = (own: string, args: ReadonlyArray<string> = []) => {
    const program = spawn(process.execPath, [MAIN, "chat", "--plain", ...args], {
      cwd: own,
      env: { HOME: own, PATH: process.env["PATH"] },
      stdio: ["pipe", "pipe", "pipe"]
    })
    const texts = { out: "", err: "" }
    const until = (text: string) =>
      new Promise<void>((resolve) => {
        const look = () => void (texts.out.includes(text) && resolve())
        program.stdout.on("data", look)
        look()
      })
    program.stdout.setEncoding("utf8").on("data", (text: string) => (texts.out += text))
    program.stderr.setEncoding("utf8").on("data", (text: string) => (texts.err += text))
    return { program, texts, until, ended: new Promise((resolve) => program.once("close", resolve)) }
  }

  const ownFolder = () => {
    const own = mkdtempSync(join(directory, "own-"))
    const config = { server: { port: 0 }, model: "simulated/steady+instant", retry: RETRY }
    writeFileSync(join(own, "holdfast.config.json"), JSON.stringify(config))
    return own
  }

  it("without a service the terminal runs its own, and what it leaves is on disk", async () => {
    const { ended, program, texts } = plain(ownFolder())
    program.stdin.end("Are you there?\n")
    expect(await ended).toBe(0)
    expect(texts.out).toContain("> Are you there?\n")
    expect(texts.out).toContain("Nothing failed this time.")
    expect(texts.err).toContain("this terminal runs its own")
    expect(texts.err).toMatch(/`holdfast chat --conversation \S+` goes on with it/)
  })

  it("rule X1: a terminal whose service ends with another terminal runs it on, and its wait ends there", async () => {
    const own = ownFolder()
    const first = plain(own)
    first.program.stdin.write("Are you there?\n")
    await first.until("Nothing failed this time.")
    const second = plain(own, ["--model", "simulated/529+instant"])
    second.program.stdin.write("And you?\n")
    await second.until("Retrying (1/2)")
    expect(second.texts.err).toBe("")
    first.program.kill("SIGKILL")
    await second.until("outlive")
    second.program.stdin.end()
    expect(await second.ended).toBe(0)
    expect(second.texts.err).toContain("this terminal runs its own")
  })
})
