/** Tests `holdfast connect`: the line, and what it writes into clients' own configurations. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ClientFile from "../../src/cli/connect/ClientFile.ts"
import * as Clients from "../../src/cli/connect/Clients.ts"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as Process from "../service/Process.ts"
import * as CommandLine from "./CommandLine.ts"
import * as It from "../It.ts"

const URL = "http://127.0.0.1:4747/to/anthropic"
const FLAG = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
const CEILING = "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"
const STATUS = '"statusLine": { "type": "command", "command": "holdfast status-line", "refreshInterval": 30 }'

const parts = { environment: { HOME: "/home/a" } }

describe("holdfast connect", () => {
  It.effect("prints the line that starts the client", function* () {
    const { code, stderr, stdout } = yield* CommandLine.run(["connect", "claude"], { parts })
    expect([code, stdout]).toEqual([0, `${FLAG}=1 ${CEILING}=0 ANTHROPIC_BASE_URL=${URL} claude\n`])
    expect(stderr).toContain("~/.claude/settings.json")
    const other = yield* CommandLine.run(["connect", "codex", "--profile", "interactive", "--url", "http://box:9/"], {
      parts
    })
    expect(other.stdout).toBe("codex -c openai_base_url=http://box:9/to/openai@interactive\n")
    const foreign = yield* CommandLine.run(["connect", "opencode", "--provider", "openai"], { parts })
    expect(foreign.stdout).toContain('{"openai":{"options":{"baseURL":"http://127.0.0.1:4747/to/openai"}}}')
  })

  It.effect("needs no key of a provider, as it calls none", function* () {
    const keyed = { type: "openai-compatible", baseUrl: "https://own.example", apiKeyEnv: "OWN_KEY" }
    const config = { model: "own/m", providers: { own: { ...keyed, headers: { "x-tenant": "${TENANT}" } } } }
    const files = { "holdfast.config.json": JSON.stringify(config) }
    const { code, stdout } = yield* CommandLine.run(["connect", "openai-sdk", "--provider", "own"], { parts, files })
    expect([code, stdout]).toEqual([0, "export OPENAI_BASE_URL=http://127.0.0.1:4747/to/own\n"])
  })

  It.effect("prints the setting of a client that has its base URL in a file alone", function* () {
    const { code, stderr, stdout } = yield* CommandLine.run(["connect", "pi"], { parts })
    expect([code, stdout]).toEqual([0, `providers.anthropic.baseUrl is ${URL}\n`])
    expect(stderr).toContain("--write sets it in ~/.pi/agent/models.json")
  })

  It.effect("refuses what cannot be set or taken back, and a format that the client does not call in", function* () {
    for (const [args, environment, message] of [
      ["claude --provider openai", {}, 'claude calls in the format anthropic, and "openai" has openai-compatible.'],
      ["codex --provider anthropic --write", {}, "Nothing is translated"],
      ["openai-sdk --write", {}, "openai-sdk has no configuration of its own: use the line above."],
      ["claude --write", {}, "HOME is not set, so the client's configuration is not known."],
      ["claude --undo", { HOME: "/home/a" }, "/home/a/.claude/settings.json was not changed by --write."]
    ] as const) {
      const refused = yield* CommandLine.run(["connect", ...args.split(" ")], {
        parts: { environment },
        isOnDisk: true
      })
      expect([refused.code, refused.stdout, refused.stderr]).toEqual([2, "", expect.stringContaining(message)])
    }
  })

  It.effect("names the providers if the client's is not configured", function* () {
    const { code, stderr } = yield* CommandLine.run(["connect", "claude", "--provider", "nowhere"], { parts })
    expect(code).toBe(2)
    expect(stderr).toMatch(/no provider "nowhere" with a base URL\. It has .*anthropic/u)
  })
})

/** A home directory on the disk, and the command in it. */
const homeOf = Effect.map(Process.directory, (home) => {
  fs.writeFileSync(join(home, "holdfast.json"), "{}")
  const path = (file: string) => join(home, file)
  const connect = (...args: ReadonlyArray<string>) =>
    CommandLine.run(["connect", ...args, "--config", path("holdfast.json")], {
      parts: { environment: { HOME: home } },
      isOnDisk: true
    })
  const has = (file: string, content: string | Uint8Array, mode = 0o644) => {
    fs.mkdirSync(dirname(path(file)), { recursive: true })
    fs.writeFileSync(path(file), content)
    fs.chmodSync(path(file), mode)
  }
  const modeOf = (file: string) => fs.statSync(path(file)).mode & 0o7777
  const names = (folder: string) => fs.readdirSync(path(folder)).toSorted()
  return { connect, has, modeOf, names, path, textOf: (file: string) => fs.readFileSync(path(file), "utf8") }
})

describe("holdfast connect --write", () => {
  const CLAUDE = ".claude/settings.json"

  It.effect("keeps mode and bytes, and --undo brings the former file back", function* () {
    const { connect, has, modeOf, names, textOf } = yield* homeOf
    const text = '\ufeff{\r\n\t// mine\r\n\t"model":   "opus",\r\n\t"env": {\r\n\t\t"A": "1" // one\r\n\t}\r\n}'
    has(CLAUDE, text, 0o641)
    expect((yield* connect("claude", "--write")).code).toBe(0)
    expect(textOf(CLAUDE)).toBe(
      text
        .replace(
          '"A": "1" // one',
          `"A": "1", // one\r\n\t\t"ANTHROPIC_BASE_URL": "${URL}",\r\n\t\t"${FLAG}": "1",\r\n\t\t"${CEILING}": "0"`
        )
        .replace(/\r\n\}$/u, `,\r\n\t${STATUS}\r\n}`)
    )
    expect([modeOf(CLAUDE), modeOf(`${CLAUDE}.before-holdfast`)]).toEqual([0o641, 0o641])
    expect(names(".claude")).toEqual(["settings.json", "settings.json.before-holdfast"])
    expect((yield* connect("claude", "--undo")).code).toBe(0)
    expect([textOf(CLAUDE), modeOf(CLAUDE), names(".claude")]).toEqual([text, 0o641, ["settings.json"]])
  })

  It.effect("makes a file for its owner alone where there was none, and --undo removes it", function* () {
    const { connect, modeOf, names, textOf } = yield* homeOf
    expect((yield* connect("claude", "--write")).code).toBe(0)
    expect(textOf(CLAUDE)).toBe(
      `{\n  "env": {\n    "ANTHROPIC_BASE_URL": "${URL}",\n    "${FLAG}": "1",\n    "${CEILING}": "0"\n  },\n  ${STATUS}\n}\n`
    )
    expect(modeOf(CLAUDE)).toBe(0o600)
    yield* connect("claude", "--undo")
    expect(names(".claude")).toEqual([])
  })

  It.effect("--undo takes the values alone out of a file that was changed, and puts former ones back", function* () {
    const { connect, has, textOf } = yield* homeOf
    has(CLAUDE, `{ "env": { "A": "1", "${CEILING}": "5" } }`)
    yield* connect("claude", "--write")
    has(CLAUDE, textOf(CLAUDE).replace('"1"', '"2"'))
    yield* connect("claude", "--undo")
    expect(textOf(CLAUDE)).toBe(`{ "env": { "A": "2", "${CEILING}": "5" } }`)
  })

  It.effect("leaves a status line that is its person's own as it is, byte for byte", function* () {
    const { connect, has, textOf } = yield* homeOf
    const own = '"statusLine": {"type":"command",\n    "command": "mine" }'
    has(CLAUDE, `{ "env": { "A": "1" }, ${own} }`)
    yield* connect("claude", "--write")
    expect(textOf(CLAUDE)).toContain(own)
    has(CLAUDE, textOf(CLAUDE).replace('"1"', '"2"'))
    yield* connect("claude", "--undo")
    expect(textOf(CLAUDE)).toBe(`{ "env": { "A": "2" }, ${own} }`)
  })

  It.effect("--undo leaves a status line that its person has set since", function* () {
    const { connect, has, textOf } = yield* homeOf
    has(CLAUDE, '{ "env": { "A": "1" } }')
    yield* connect("claude", "--write")
    has(CLAUDE, textOf(CLAUDE).replace("holdfast status-line", "mine"))
    yield* connect("claude", "--undo")
    expect(textOf(CLAUDE)).toBe(`{ "env": { "A": "1" }, ${STATUS.replace("holdfast status-line", "mine")} }`)
  })

  It.effect("gives Codex the provider of the login that it has", function* () {
    const { connect, has } = yield* homeOf
    const lineOf = (login: unknown) => {
      has(".codex/auth.json", typeof login === "string" ? login : JSON.stringify(login))
      return Effect.map(connect("codex"), ({ stdout }) => stdout)
    }
    const tokens = { id_token: "i", access_token: "a", refresh_token: "r" }
    for (const plan of [
      { auth_mode: "chatgpt", tokens },
      { OPENAI_API_KEY: null, tokens }
    ]) {
      expect(yield* lineOf(plan)).toBe("codex -c openai_base_url=http://127.0.0.1:4747/to/chatgpt\n")
    }
    for (const key of [{ auth_mode: "apikey", OPENAI_API_KEY: "k", tokens }, { OPENAI_API_KEY: "k" }, "no JSON"]) {
      expect(yield* lineOf(key)).toContain("/to/openai")
    }
  })

  It.effect("sets what belongs to Anthropic's own address only where calls go there", function* () {
    const { connect, has, textOf } = yield* homeOf
    const mine = { type: "anthropic", baseUrl: "https://mine.example" }
    has("holdfast.json", JSON.stringify({ model: "mine/m", providers: { mine } }))
    yield* connect("claude", "--write", "--provider", "mine")
    expect(Object.keys(JSON.parse(textOf(CLAUDE)).env)).toEqual(["ANTHROPIC_BASE_URL", CEILING])
  })

  It.effect("writes into the file of a client that has comments in its JSON, and makes no second one", function* () {
    const { connect, has, names, textOf } = yield* homeOf
    const text = '{\n  // mine\n  "provider": {},\n}\n'
    has(".config/opencode/opencode.jsonc", text)
    expect((yield* connect("opencode", "--write")).stdout).toContain("~/.config/opencode/opencode.jsonc: provider")
    expect(textOf(".config/opencode/opencode.jsonc")).toContain("// mine")
    yield* connect("opencode", "--undo")
    expect([names(".config/opencode"), textOf(".config/opencode/opencode.jsonc")]).toEqual([["opencode.jsonc"], text])
    expect((yield* connect("pi", "--write")).code).toBe(0)
    yield* connect("pi", "--undo")
    expect(names(".pi/agent")).toEqual([])
    has(".pi/agent/models.jsonc", "{}")
    expect((yield* connect("pi", "--write")).stdout).toContain("~/.pi/agent/models.json: ")
  })

  It.effect("refuses a symbolic link, a file that is no JSON, or no UTF-8, and changes nothing", function* () {
    const { connect, has, names, path, textOf } = yield* homeOf
    has("dotfiles/settings.json", "{}")
    fs.mkdirSync(path(".claude"))
    fs.symlinkSync(path("dotfiles/settings.json"), path(CLAUDE))
    const linked = yield* connect("claude", "--write")
    expect([linked.code, linked.stderr]).toEqual([2, expect.stringContaining("is a symbolic link to")])
    expect(textOf("dotfiles/settings.json")).toBe("{}")
    fs.unlinkSync(path(CLAUDE))
    for (const [content, message] of [
      ['{ "env": ', "is not valid JSON"],
      ['{ "env": [] }', "is not valid JSON with a place for env"],
      [Uint8Array.of(0x7b, 0xff, 0x7d), "is not UTF-8"]
    ] as const) {
      has(CLAUDE, content)
      const refused = yield* connect("claude", "--write")
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(message)])
      expect(Buffer.from(content).equals(fs.readFileSync(path(CLAUDE)))).toBe(true)
      expect(names(".claude")).toEqual(["settings.json"])
    }
  })

  It.effect("sets a base URL of cline once it has the provider", function* () {
    const { connect, has, path, textOf } = yield* homeOf
    const file = ".cline/data/settings/providers.json"
    const refused = yield* connect("cline", "--write")
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(
      `${path(file)} has no providers.anthropic.settings. Run \`cline auth anthropic\` first.`
    )
    has(file, '{ "version": 1, "providers": { "anthropic": { "settings": { "provider": "anthropic" } } } }')
    expect((yield* connect("cline", "--write")).code).toBe(0)
    const settings = { provider: "anthropic", baseUrl: `${URL}/v1` }
    expect(JSON.parse(textOf(file)).providers.anthropic.settings).toEqual(settings)
  })
})

describe("a client's file", () => {
  const texts: Readonly<Record<ClientFile.FilePlace["format"], ReadonlyArray<string>>> = {
    json: ["", "{}", '{ // it\n  "a": 1\n}\n', '{"a":1,"b":[1,2]}', '{\r\n  "a": 1,\r\n}', "{\n\n}", "{ /* it */ }"],
    toml: ["", 'model = "gpt-5"\r\n\r\n[profiles.a]\r\nopenai_base_url = "x"\r\n'],
    env: ["", "A=1", "A=1\nB=2\n"]
  }

  it("has the value, and all of its other text; and without it again it is as before", () => {
    for (const client of Clients.table) {
      const place = client.place?.(client.provider)
      if (place === undefined) continue
      for (const text of texts[place.format]) {
        const set = (text: string, value: string | undefined) => ClientFile.set(place, text, value) ?? "refused"
        const once = set(text, "http://a/to/x")
        expect(ClientFile.get(place, once)).toBe("http://a/to/x")
        expect(onlyAdded(text, once), JSON.stringify([text, once])).toBe(true)
        expect(/(?:^|[^\r])\n/u.test(once) && text.includes("\r\n")).toBe(false)
        const twice = set(once, "http://b/to/y")
        expect(twice).toBe(once.replace("http://a/to/x", "http://b/to/y"))
        expect(ClientFile.get(place, set(twice, undefined))).toBe(undefined)
      }
    }
  })
})

describe("a member of a client's file", () => {
  const place: ClientFile.FilePlace = { file: "f", format: "json", key: ["env", "A"] }

  it.each([
    ["", '{\n  "env": {\n    "A": "x"\n  }\n}\n'],
    ['{\n    "env": {}\n}', '{\n    "env": {\n        "A": "x"\n    }\n}'],
    ['{\n\t"env": { // none\n\t}\n}', '{\n\t"env": { // none\n\t\t"A": "x"\n\t}\n}'],
    ['{\n\t"env": {\n\t\t"B": 1\n\t}\n}', '{\n\t"env": {\n\t\t"B": 1,\n\t\t"A": "x"\n\t}\n}'],
    ['{\n  "b": 1, // one\n}', '{\n  "b": 1, // one\n  "env": {\n    "A": "x"\n  },\n}'],
    ['{ "b": 1 }', '{ "b": 1, "env": { "A": "x" } }'],
    ['{"env":{"A":"y"}}', '{"env":{"A":"x"}}'],
    ['{ "env": { "A": "x" }', undefined],
    ["[]", undefined]
  ])("has the form of the others: %j", (before, after) => {
    expect(ClientFile.set(place, before, "x")).toBe(after)
  })

  it("has a place where its object is", () => {
    const texts = ["", "{}", '{ "env": 1 }', '{ "env": {} }']
    expect(texts.filter((text) => ClientFile.has(place, text))).toEqual(texts.slice(2))
    const value = { type: "a", of: { n: 1 } }
    const own = { ...place, key: ["own"] }
    expect(ClientFile.set(own, "{}", value)).toBe('{\n  "own": { "type": "a", "of": { "n": 1 } }\n}')
    expect(ClientFile.set(own, '{"own":{"of":{"n":1},"type":"a"}}', value)).toBe('{"own":{"of":{"n":1},"type":"a"}}')
    expect(ClientFile.set(own, "{}", undefined)).toBe("{}")
  })
})

describe("a line of a client's file", () => {
  it("keeps its quotes' kind of value, its comment and its line ending", () => {
    const toml: ClientFile.FilePlace = { file: "f", format: "toml", key: ["openai_base_url"] }
    const text = "# mine\r\nopenai_base_url = 'https://x' # why\r\n[a]\r\n"
    expect(ClientFile.get(toml, text)).toBe("https://x")
    expect(ClientFile.set(toml, text, "http://a")).toBe(text.replace("'https://x'", '"http://a"'))
    expect(ClientFile.set(toml, text, undefined)).toBe("# mine\r\n[a]\r\n")
    const env: ClientFile.FilePlace = { file: "f", format: "env", key: ["URL"] }
    expect(ClientFile.set(env, "A=1\r\nexport URL=x\r\nB=2", "y")).toBe("A=1\r\nexport URL=y\r\nB=2")
    expect(ClientFile.set(env, "MY_URL=x", "y")).toBe("MY_URL=x\nURL=y\n")
    expect(["", "[a]\n"].map((text) => ClientFile.set(env, text, "y"))).toEqual(["URL=y\n", "[a]\nURL=y\n"])
    expect(ClientFile.set(env, "[a]\nURL=x\n", "y")).toBe("[a]\nURL=y\n")
    expect(ClientFile.set(toml, "[a]\nopenai_base_url = 1\n", "y")).toBe(
      'openai_base_url = "y"\n[a]\nopenai_base_url = 1\n'
    )
  })
})

/** Whether a text is another one with one or two pieces more: a member, and the comma or the lines around it. */
const onlyAdded = (before: string, after: string): boolean => {
  let at = 0
  for (const character of after) if (character === before[at]) at++
  return at === before.length
}
