/** Runs `holdfast acp` as an editor does: a process, and the client of the protocol's own library. */
import * as acp from "@agentclientprotocol/sdk"
import * as ScriptedServer from "@holdfast/simulated/testing"
import * as TestToolServers from "@holdfast/mcp/testing"
import { Effect, Exit, Scope } from "effect"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Readable, Writable } from "node:stream"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Process from "../service/Process.ts"
import { MAIN } from "../service/Program.ts"
import { toolCalls } from "../service/ToolFrames.ts"

const { ErrorBody, answerFrames } = ScriptedServer

let directory = ""
const scope = Effect.runSync(Scope.make())
beforeAll(() => {
  directory = fs.mkdtempSync(join(tmpdir(), "holdfast-acp-"))
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  fs.rmSync(directory, { recursive: true, force: true })
})

const answering = (text: string) => ({ frames: answerFrames("openai", text) })
const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "openai") }

/** A provider, and the configuration of a service over it. */
const setup = async (name: string, retry: object, tools: object = {}) => {
  const provider = await Effect.runPromise(Effect.provideService(ScriptedServer.start(), Scope.Scope, scope))
  const cwd = join(directory, name)
  fs.mkdirSync(cwd)
  const providers = { scripted: { type: "openai-compatible", baseUrl: `${provider.url}/v1`, apiKeyEnv: "KEY" } }
  fs.writeFileSync(join(cwd, "holdfast.json"), JSON.stringify({ model: "scripted/m", providers, retry, tools }))
  return { provider, cwd }
}

const spawned = (cwd: string): ChildProcessWithoutNullStreams => {
  const env = { HOME: cwd, PATH: process.env["PATH"], KEY: "sk-test" }
  const child = spawn(process.execPath, [MAIN, "acp", "--config", "holdfast.json"], { cwd, env })
  child.stderr.resume()
  return child
}

/** An editor: what it was sent, and a way to wait for it. */
class Editor {
  readonly updates: Array<acp.SessionUpdate> = []
  readonly permissions: Array<acp.RequestPermissionRequest> = []
  withdrawn = 0
  readonly child: ChildProcessWithoutNullStreams
  readonly agent: acp.ClientContext

  /** `answer` chooses the option of a permission request; `undefined`: it is not answered. */
  constructor(cwd: string, answer: (request: acp.RequestPermissionRequest) => string | undefined = () => undefined) {
    this.child = spawned(cwd)
    this.child.stdin.on("error", () => {})
    const stream = acp.ndJsonStream(
      Writable.toWeb(this.child.stdin),
      Readable.toWeb(this.child.stdout) as ReadableStream<Uint8Array>
    )
    this.agent = acp
      .client({ name: "test" })
      .onNotification(acp.methods.client.session.update, ({ params }) => void this.updates.push(params.update))
      .onRequest(acp.methods.client.session.requestPermission, ({ params, signal }) => {
        this.permissions.push(params)
        signal.addEventListener("abort", () => this.withdrawn++)
        const optionId = answer(params)
        return optionId === undefined ? new Promise<never>(() => {}) : { outcome: { outcome: "selected", optionId } }
      })
      .connect(stream).agent
  }

  start(): Promise<acp.InitializeResponse> {
    const given = { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} }
    return this.agent.request(acp.methods.agent.initialize, given)
  }

  async create(): Promise<string> {
    const { sessionId } = await this.agent.request(acp.methods.agent.session.new, { cwd: directory, mcpServers: [] })
    return sessionId
  }

  async load(sessionId: string): Promise<void> {
    await this.agent.request(acp.methods.agent.session.load, { sessionId, cwd: directory, mcpServers: [] })
  }

  prompt(sessionId: string, text: string): Promise<acp.PromptResponse> {
    return this.agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] })
  }

  /** Waits until the editor was sent what `is` looks for. */
  until(is: () => boolean): Promise<boolean> {
    return Effect.runPromise(Process.eventually("the editor to be sent it", Effect.sync(is), (isSent) => isSent))
  }

  /** The text of the answers. */
  get text(): string {
    return this.updates
      .map((update) =>
        update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : ""
      )
      .join("")
  }

  /** Tool calls as they stand, by their ids: updates are folded in. */
  get calls(): ReadonlyMap<string, { readonly title: string; readonly status: string }> {
    const calls = new Map<string, { title: string; status: string }>()
    for (const update of this.updates) {
      if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") continue
      const { status, title, toolCallId } = update
      const known = calls.get(toolCallId) ?? { title: "", status: "" }
      calls.set(toolCallId, { title: title ?? known.title, status: status ?? known.status })
    }
    return calls
  }

  /** Ends its process: by the end of its input, or by a signal. */
  async end(signal?: NodeJS.Signals): Promise<number | null> {
    const exited = once(this.child, "exit")
    if (signal === undefined) this.child.stdin.end()
    else this.child.kill(signal)
    return (await exited)[0]
  }
}

describe.concurrent("holdfast acp", () => {
  it("rule X1: a prompt waits in an outage, and goes on in the process that loads its session after kill -9", async () => {
    const retry = { schedule: { type: "steps", delays: ["1 second"], tail: "1 second" } }
    const { cwd, provider } = await setup("outage", retry)
    provider.respond(answering("Hello."), overloaded, answering("Still here."))
    const first = new Editor(cwd)
    expect(await first.start()).toMatchObject({ protocolVersion: 1, agentCapabilities: { loadSession: true } })
    const sessionId = await first.create()
    expect(await first.prompt(sessionId, "Hi")).toEqual({ stopReason: "end_turn" })
    expect(first.text).toBe("Hello.")
    const cut = first.prompt(sessionId, "Are you there?").catch(() => "cut")
    await first.until(() => first.calls.size > 0)
    expect(Array.from(first.calls.values())).toMatchObject([{ status: "in_progress" }])
    expect(Array.from(first.calls.values())[0]?.title).toMatch(/529.*retry 1 at .*\d\d:\d\d:\d\d/)
    await first.end("SIGKILL")
    expect(await cut).toBe("cut")

    const second = new Editor(cwd)
    await second.start()
    await second.load(sessionId)
    const said = second.updates.flatMap((update) =>
      update.sessionUpdate === "user_message_chunk" && update.content.type === "text" ? [update.content.text] : []
    )
    expect(said).toEqual(["Hi", "Are you there?"])
    await second.until(() => second.text === "Hello.Still here.")
    await second.until(() => Array.from(second.calls.values()).every(({ status }) => status === "completed"))
    // A wait that was over before the process had started is not shown again.
    expect(second.calls.size).toBeLessThanOrEqual(1)
    expect(provider.count()).toBe(3)

    // After an error /retry runs the model again (M1), and the end of its input ends the process.
    provider.respond({ status: 400, body: ErrorBody.envelope("bad-request", "openai") }, answering("Now."))
    await expect(second.prompt(sessionId, "And now?")).rejects.toThrow()
    expect(await second.prompt(sessionId, "/retry")).toEqual({ stopReason: "end_turn" })
    expect(second.text).toBe("Hello.Still here.Now.")
    expect(await second.end()).toBe(0)
  })

  it("rule X8: a tool call asks for permission, again after kill -9, and runs once it is allowed; cancel ends a wait, and withdraws the request", async () => {
    const long = { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" } }
    const entry = { ...TestToolServers.unrulyEntry(), allow: ["append"], confirm: ["append"] }
    const { cwd, provider } = await setup("tools", long, { unruly: entry })
    const file = join(cwd, "runs")
    fs.writeFileSync(join(cwd, "gate"), "")
    const call = { frames: toolCalls({ name: "append", input: { file, gate: join(cwd, "gate") } }) }
    provider.respond(call, answering("Done."), overloaded, call)
    const first = new Editor(cwd)
    await first.start()
    const sessionId = await first.create()
    const cut = first.prompt(sessionId, "Append it.").catch(() => "cut")
    await first.until(() => first.permissions.length > 0)
    expect(first.permissions[0]).toMatchObject({
      sessionId,
      toolCall: { title: "append", status: "pending", rawInput: { file } },
      options: [{ kind: "allow_once" }, { kind: "allow_always" }, { kind: "reject_once" }, { kind: "reject_always" }]
    })
    await first.end("SIGKILL")
    expect(await cut).toBe("cut")
    expect(fs.existsSync(file)).toBe(false)

    const second: Editor = new Editor(cwd, () => (second.permissions.length === 1 ? "allow" : undefined))
    await second.start()
    await second.load(sessionId)
    await second.until(() => second.text === "Done.")
    expect(fs.readFileSync(file, "utf8").trim()).toBe("append")
    expect(Array.from(second.calls.values())).toEqual([{ title: "append", status: "completed" }])

    const ended = second.prompt(sessionId, "Again.")
    await second.until(() => second.calls.size === 2)
    await second.agent.notify(acp.methods.agent.session.cancel, { sessionId })
    expect(await ended).toEqual({ stopReason: "cancelled" })
    const asked = second.prompt(sessionId, "Append it once more.")
    await second.until(() => second.permissions.length === 2)
    expect(second.withdrawn).toBe(0)
    await second.agent.notify(acp.methods.agent.session.cancel, { sessionId })
    expect(await asked).toEqual({ stopReason: "cancelled" })
    await second.until(() => second.withdrawn === 1)
    await expect(second.load("nowhere")).rejects.toThrow("There is no conversation nowhere.")
    expect(await second.end()).toBe(0)
  })

  it("rule X1: a second editor works through the first one's process, and goes on when that one ends", async () => {
    const { cwd, provider } = await setup("two", {})
    provider.fallback(answering("Hello."))
    const first = new Editor(cwd)
    await first.start()
    const sessionId = await first.create()
    expect(await first.prompt(sessionId, "Hi")).toEqual({ stopReason: "end_turn" })
    const second = new Editor(cwd)
    await second.start()
    await second.load(sessionId)
    await second.until(() => second.text === "Hello.")
    expect(await first.end()).toBe(0)
    expect(await second.prompt(sessionId, "And now?")).toEqual({ stopReason: "end_turn" })
    expect(second.text).toBe("Hello.Hello.")
    expect(await second.end()).toBe(0)
  })

  it("carries out what one write has in its order, and answers a line that it cannot read", async () => {
    const { cwd, provider } = await setup("order", { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" } })
    provider.fallback(overloaded)
    const child = spawned(cwd)
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const next = async (): Promise<{ readonly result?: { readonly sessionId?: string } }> => {
      const line = JSON.parse((await lines.next()).value ?? "null")
      return line === null || !("method" in line) ? line : next()
    }
    const request = (id: number, method: string, params: object) =>
      `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`
    const option = (id: number, sessionId: unknown, configId: string, value: object) =>
      request(id, "session/set_config_option", { sessionId, configId, ...value })
    const failed = (id: unknown, code: number, message: string, data?: object) =>
      ({ jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } }) as const
    child.stdin.write(
      request(1, "initialize", { protocolVersion: 1, clientCapabilities: {} }) +
        `{"jsonrpc":"2.0","id":9,"method":"x","params":${"[".repeat(200_000)}${"]".repeat(200_000)}}\n` +
        `{"jsonrpc":"2.0","id":9,"method":"x","params":[${"{},".repeat(200_000)}{}]}\n` +
        `"${"x".repeat(32 * 1024 * 1024)}"\n` +
        request(2, "session/new", { cwd, mcpServers: [] }) +
        "nonsense\n\n[]\n7\n" +
        request(3, "session/elsewhere", {}) +
        '{"jsonrpc":"2.0","id":{},"method":"session/new"}\n' +
        request(4, "session/load", { sessionId: "no where", cwd, mcpServers: [] }) +
        option(5, "other", "model", { value: "scripted/n" })
    )
    expect(await next()).toMatchObject({ id: 1, result: { protocolVersion: 1 } })
    for (const excess of ["has more than 200 levels, in", "has more than 10000 values, in"])
      expect(await next()).toEqual(failed(null, -32600, `The line ${excess} "params", and was not read.`))
    expect(await next()).toEqual(failed(null, -32600, "The line is longer than 33554432 bytes, and was not read."))
    const created = await next()
    expect(created).toMatchObject({ id: 2, result: { sessionId: expect.any(String) } })
    for (const answer of [
      failed(null, -32700, "The line is no JSON, and was not read."),
      failed(null, -32600, "The line is no JSON object. Expected one message a line."),
      failed(null, -32600, "The line is no JSON object. Expected one message a line."),
      failed(3, -32601, '"Method not found": session/elsewhere', { method: "session/elsewhere" }),
      failed(null, -32600, "Invalid request", { jsonrpc: "2.0", id: {}, method: "session/new" }),
      failed(4, -32602, 'There is no session "no where".'),
      failed(5, -32002, "There is no session other in this process. Load it first.")
    ])
      expect(await next()).toEqual(answer)
    const sessionId = created.result?.sessionId
    const prompt = (id: number, ...texts: ReadonlyArray<string>) =>
      request(id, "session/prompt", { sessionId, prompt: texts.map((text) => ({ type: "text", text })) })
    const cancel = `${JSON.stringify({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } })}\n`
    child.stdin.write(
      option(6, sessionId, "other", { value: "scripted/n" }) +
        option(7, sessionId, "model", { type: "boolean", value: true }) +
        prompt(8) +
        prompt(9, "Hi") +
        cancel
    )
    for (const answer of [
      failed(6, -32602, 'There is no option "other" with this value. Expected "model".'),
      failed(7, -32602, 'There is no option "model" with this value. Expected "model".'),
      failed(8, -32602, "The prompt is empty, or has a file that is not valid.")
    ])
      expect(await next()).toEqual(answer)
    expect(await next()).toMatchObject({ id: 9, result: { stopReason: "cancelled" } })
    // The turn keeps the model that it was accepted with, and its answer is to come.
    child.stdin.write(prompt(10, "Hi") + option(11, sessionId, "model", { value: "scripted/n" }) + cancel)
    expect(await next()).toMatchObject({ id: 11, result: { configOptions: [{ id: "model" }] } })
    expect(await next()).toMatchObject({ id: 10, result: { stopReason: "cancelled" } })
    expect(provider.requests().map(({ body }) => JSON.parse(body).model)).not.toContain("n")
    child.stdin.end()
    expect(await once(child, "exit")).toEqual([0, null])
  })
})
