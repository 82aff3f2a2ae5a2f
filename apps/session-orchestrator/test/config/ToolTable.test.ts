import { describe, expect, it } from "@effect/vitest"
import { Duration, Redacted } from "effect"
import * as ConfigCheck from "../../src/cli/ConfigCheck.ts"
import * as Secrets from "../../src/config/redaction/Secrets.ts"
import * as Configurations from "./Configurations.ts"

const TOKEN = "ghp-not-a-real-token-0123456789"

const tools = (tools: unknown, environment = {}) => ({ file: { tools }, environment })

describe("tools", () => {
  it("a server is a command or a url; the rest has defaults", () => {
    const url = "https://tools.example.org/mcp"
    const local = { command: "npx", args: ["-y", "server-files"] }
    const [files, remote] = Configurations.config(
      tools({
        files: { ...local, cwd: "./work", idempotent: ["read_*"] },
        remote: { url, timeout: "5 minutes", required: true, allow: ["search"], maxOutput: 2048 }
      })
    ).tools
    const usual = { isRequired: false, allow: undefined, deny: [], confirm: [], idempotent: [], maxOutput: 65_536 }
    const times = { timeout: Duration.minutes(1), startTimeout: Duration.seconds(30), answerWithin: Duration.hours(8) }
    const stdio = { type: "stdio", ...local, env: {}, cwd: "/etc/work" }
    const http = { timeout: Duration.minutes(5), isRequired: true, allow: ["search"], maxOutput: 2048 }
    expect([files, remote]).toEqual([
      { name: "files", secrets: [], ...times, ...usual, idempotent: ["read_*"], reach: stdio },
      { name: "remote", secrets: [], ...times, ...usual, ...http, reach: { type: "http", url, headers: {} } }
    ])
  })

  it("${NAME} stands for a variable, in env and headers, and its value is a secret", () => {
    const config = Configurations.config(
      tools(
        {
          one: { command: "one", env: { GITHUB_TOKEN: "${GH}", LEVEL: "production" } },
          two: { url: "http://localhost:1/mcp", headers: { Authorization: "Bearer ${GH}" } }
        },
        { GH: TOKEN }
      )
    )
    const [one, two] = config.tools
    const env = one?.reach.type === "stdio" ? one.reach.env : {}
    expect(env["GITHUB_TOKEN"] && Redacted.value(env["GITHUB_TOKEN"])).toBe(TOKEN)
    expect(env["LEVEL"] && Redacted.value(env["LEVEL"])).toBe("production")
    const headers = two?.reach.type === "http" ? two.reach.headers : {}
    expect(headers["Authorization"] && Redacted.value(headers["Authorization"])).toBe(`Bearer ${TOKEN}`)
    expect(JSON.stringify(config.tools)).not.toContain(TOKEN)
    const { redact } = Secrets.make(Secrets.ofConfig(config))
    expect(redact(`it said ${TOKEN} in production`)).toBe(`it said ${Secrets.PLACEHOLDER} in production`)
  })

  it("the value of a variable is a secret, with any name in env and any text around it", () => {
    const config = Configurations.config(
      tools({ one: { command: "one", env: { DSN: "https://${GH}@tracker.example/1", LEVEL: "${GH}" } } }, { GH: TOKEN })
    )
    expect(config.tools[0]?.secrets.map((secret) => Redacted.value(secret))).toContain(TOKEN)
    const { redact } = Secrets.make(Secrets.ofConfig(config))
    expect(redact(`it said ${TOKEN} of tracker.example`)).toBe(`it said ${Secrets.PLACEHOLDER} of tracker.example`)
  })

  it("a literal value is a secret as a header, and in env if its name suggests one", () => {
    const { tools: servers } = Configurations.config(
      tools({
        one: { command: "one", env: { API_KEY: TOKEN, LEVEL: "production" } },
        two: { url: "http://localhost:1/mcp", headers: { "X-Tenant": "tenant-of-ours" } }
      })
    )
    expect(servers.map(({ secrets }) => secrets.map((secret) => Redacted.value(secret)))).toEqual([
      [TOKEN],
      ["tenant-of-ours"]
    ])
  })

  it("a variable in env may have several lines, which no header can", () => {
    const reach = Configurations.config(tools({ one: { command: "one", env: { PEM: "${PEM}" } } }, { PEM: "a\nb" }))
      .tools[0]?.reach
    expect(reach?.type === "stdio" && reach.env["PEM"] && Redacted.value(reach.env["PEM"])).toBe("a\nb")
  })

  it("`config check` prints servers without the values of their variables", () => {
    const config = Configurations.config(
      tools(
        {
          one: { command: "one", args: ["--fast"], env: { GITHUB_TOKEN: "${GH}" } },
          two: { url: "http://localhost:1/mcp?key=open-sesame", headers: { "X-Key": "open-sesame-2" } }
        },
        { GH: TOKEN }
      )
    )
    const report = ConfigCheck.report(config).join("\n")
    expect(report).toContain(`one --fast, GITHUB_TOKEN=${Secrets.PLACEHOLDER}, 1m a call`)
    expect(report).toContain(
      `http://localhost:1/mcp?key=${Secrets.PLACEHOLDER}, X-Key: ${Secrets.PLACEHOLDER}, 1m a call`
    )
  })

  it.each<[string, unknown, ReadonlyArray<string>]>([
    ["neither", { a: {} }, ["tools.a: it has no command and no url. Expected one of the two."]],
    [
      "both",
      { a: { command: "x", url: "http://localhost/mcp" } },
      ["tools.a.url: there is a command too. Keep one of them."]
    ],
    [
      "a key of the other kind",
      { a: { command: "x", headers: { "X-A": "b" } }, b: { url: "http://localhost/mcp", args: ["y"] } },
      [
        "tools.a.headers: a server that is started by its command has none. Expected env.",
        "tools.b.args: a server that is reached by its url has none."
      ]
    ],
    [
      "a variable that is not set",
      { a: { command: "x", env: { TOKEN: "${NOT_SET}" } } },
      ["tools.a.env.TOKEN: the environment variable NOT_SET is not set."]
    ],
    [
      "a name that could stand before no tool's",
      { "my tools": { command: "x" } },
      [`tools["my tools"]: this name is not valid; expected at most 32 letters, digits, '_' and '-'.`]
    ]
  ])("%s is refused, by its path", (_, given, expected) => {
    expect(Configurations.problems(tools(given))).toEqual(expected)
  })
})
