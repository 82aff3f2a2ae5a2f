import { describe, expect, it } from "@effect/vitest"
import { Duration, Redacted, Result } from "effect"
import { BuiltIn } from "@holdfast/providers"
import * as Configurations from "./Configurations.ts"

const KEY = "sk-test-0123456789"
const TOKEN = "a-token-of-24-characters"

const KNOWN = `Known: simulated, ${[...BuiltIn.builtIns, ...BuiltIn.otherFormats].map(({ name }) => name).join(", ")}`

/** A configuration whose secrets are all in variables. */
const BY_VARIABLES = {
  model: "openai/gpt-5",
  retry: { routing: { type: "fallback-chain", chains: { default: ["anthropic/claude-sonnet-4-5"] } } },
  server: { host: "0.0.0.0", tokenEnv: "TOKEN" },
  providers: { own: { type: "openai-compatible", baseUrl: "https://own.example", headers: { "x-key": "${OWN}" } } },
  tools: { files: { command: "files", env: { FILES_KEY: "${FILES}" } } },
  webhooks: { secretEnv: "SIGNED", turnEnd: "https://ends.example" },
  telemetry: { notifications: { webhookEnv: "HOOK" } }
}

describe("Resolve", () => {
  it("a command that runs no service needs none of its secrets; a mistake stops it all the same", () => {
    const set = (file: object, isService: boolean) => Configurations.problems({ file, isService })
    expect(set(BY_VARIABLES, false)).toEqual([])
    expect(set(BY_VARIABLES, true)).toHaveLength(7)
    expect(set({ ...BY_VARIABLES, model: "opnai/gpt-5", sever: {} }, false)).toHaveLength(2)
  })

  it("a configuration without its secrets has why no service can run on it", () => {
    const { missing } = Configurations.config({ file: BY_VARIABLES, isService: false })
    expect(missing?.problems.map(({ place }) => place)).toContain("server.tokenEnv")
    expect(missing?.problems).toHaveLength(7)
    expect(missing?.message).toContain("holdfast.config.json has 7 problems.")
    expect(Configurations.config({ isService: false }).missing).toBeUndefined()
    const places = (given: Configurations.ConfigurationInput) => {
      const { missing, server } = Configurations.config({ ...given, isService: false })
      return [server.token, missing?.problems.map(({ place }) => place)]
    }
    expect(places({ file: { server: { tokenEnv: "T" } } })).toEqual([undefined, ["server.tokenEnv"]])
    expect(places({ environment: { HOLDFAST_HOST: "0.0.0.0" } })).toEqual([undefined, ["HOLDFAST_HOST"]])
  })

  describe("refuses values that do not fit, by name", () => {
    it.each(
      Object.entries<readonly [Configurations.ConfigurationInput, ...ReadonlyArray<string>]>({
        "an unknown section": [
          { file: { sever: {} } },
          'sever: unknown key. Did you mean "server"? Known here: server, database, cluster, providers, model, models, prices, spend, systemPrompts, retry, gate, gateway, log, tools, telemetry, webhooks.'
        ],
        "targets that cannot be reached": [
          {
            file: {
              model: "simulated/steady",
              retry: {
                routing: { type: "fallback-chain", chains: { "opnai/a": [], default: ["openai/gpt-5", "nobody/m"] } }
              }
            }
          },
          `retry.routing.chains["opnai/a"]: there is no provider "opnai". Did you mean "openai"? ${KNOWN}; others can be added under "providers".`,
          "retry.routing.chains.default[0]: openai/gpt-5 needs a key, and OPENAI_API_KEY is not set. Export it, or choose another model.",
          `retry.routing.chains.default[1]: there is no provider "nobody". ${KNOWN}; others can be added under "providers".`
        ],
        "a model of nobody's": [
          { file: { models: { "openai/m": { contextWindow: 5 }, m: {} } } },
          'models.m: this name is not valid; expected a provider and a model, such as "openai/gpt-5".'
        ],
        "a model of a provider that is not there": [
          { file: { models: { "nobody/m": {} } } },
          `models["nobody/m"]: there is no provider "nobody". ${KNOWN}.`
        ],
        "a report's schema that is none": [
          { file: { retry: { finalReport: { schema: { type: "objekt" } } } } },
          "retry.finalReport.schema: it cannot be used: schema is invalid: data/type must be equal to one of the allowed values, data/type must be array, data/type must match a schema in anyOf."
        ],
        "a word in place of the object that has it": [
          { file: { retry: "overnihgt", log: "debug", server: "127.0.0.1" } },
          'server: found "127.0.0.1"; expected an object.',
          'retry: found "overnihgt"; expected an object. Did you mean { "profile": "overnight" }?',
          'log: found "debug"; expected an object. Did you mean { "level": "debug" }?'
        ],
        "an address that is none": [
          { file: { model: "mine/m", providers: { mine: { type: "openai-compatible", baseUrl: "localhost:11434" } } } },
          'providers.mine.baseUrl: found "localhost:11434"; expected an http or https address such as "https://api.openai.com/v1", without a user and without a fragment.'
        ],
        "a provider of its own without an address": [
          { file: { providers: { mine: { type: "openai-compatible" } }, model: "mine/m" } },
          'providers.mine.baseUrl: missing. Expected an address such as "http://localhost:11434/v1".'
        ],
        "a provider's name with a slash": [
          { file: { providers: { "a/b": { type: "anthropic" } } } },
          `providers["a/b"]: this name is not valid; expected letters, digits, '.', '_' and '-'.`
        ],
        "a key in place of a variable's name, without showing it": [
          { file: { providers: { openai: { type: "openai-compatible", apiKeyEnv: KEY } } } },
          "providers.openai.apiKeyEnv: found a string of 18 characters; expected the name of an environment variable (not the key itself)."
        ],
        "a key under a key that does not exist, without showing it": [
          { file: { providers: { openai: { type: "openai-compatible", apiKey: KEY } } } },
          'providers.openai.apiKey: unknown key. Did you mean "apiKeyEnv"? Known here: type, package, factory, options, baseUrl, apiKeyEnv, headers, body, maxTokens, promptCaching, limits.'
        ],
        "a secret of webhooks that is too short, and a key in place of its variable's name, without showing them": [
          { file: { webhooks: { secret: "planted", secretEnv: KEY, turnEnd: "planted" } } },
          "webhooks.secret: found a string of 7 characters; expected a string of at least 16 characters.",
          "webhooks.secretEnv: found a string of 18 characters; expected the name of an environment variable (not the key itself).",
          'webhooks.turnEnd: found a string of 7 characters; expected an http or https address, such as "https://hooks.example.org/services/...".'
        ],
        "receivers of signed messages without a secret": [
          { file: { webhooks: { turnEnd: "https://ends.example" } } },
          'webhooks.turnEnd: there is no secret to sign messages with. Give it a "secretEnv" or a "secret".'
        ],
        "keys for a provider that has none": [
          { file: { providers: { fake: { type: "simulated", apiKeyEnv: "X" } } } },
          'providers.fake.apiKeyEnv: a "simulated" provider has none: nothing leaves this machine.'
        ],
        "a model without its provider": [
          { file: { model: "gpt-5" } },
          'model: found "gpt-5"; expected a provider and a model, such as "openai/gpt-5".'
        ],
        "a model whose key is not there": [
          { file: { model: "openai/gpt-5" } },
          "model: openai/gpt-5 needs a key, and OPENAI_API_KEY is not set. Export it, or choose another model."
        ],
        "a model with several keys that are not there": [
          { flags: { model: "google/gemini-2.5-pro" } },
          "--model: google/gemini-2.5-pro needs a key, and none of GEMINI_API_KEY, GOOGLE_API_KEY is set. Export it, or choose another model."
        ],
        "a token's variable that is not set": [
          { file: { server: { tokenEnv: "MY_TOKEN" } } },
          "server.tokenEnv: the environment variable MY_TOKEN is not set."
        ],
        "a token given twice": [
          { file: { server: { tokenEnv: "MY_TOKEN", token: TOKEN } }, environment: { MY_TOKEN: TOKEN } },
          "server.tokenEnv: there is a server.token too. Keep one of them."
        ],
        "a variable's bad value, under the variable's name": [
          { environment: { HOLDFAST_PORT: "http" } },
          'HOLDFAST_PORT: found "http"; expected an integer from 0 to 65535.'
        ],
        "a database that is not PostgreSQL, without its password": [
          { environment: { HOLDFAST_DATABASE_URL: "mysql://me:pass-word-0123@db/holdfast" } },
          'HOLDFAST_DATABASE_URL: found a string of 37 characters; expected the address of a PostgreSQL database, such as "postgres://user@host:5432/holdfast".'
        ],
        "a flag's bad value, under the flag's name": [
          { flags: { port: 70_000 } },
          "--port: found 70000; expected an integer from 0 to 65535."
        ]
      })
    )("%s", (_what, [given, ...expected]) => {
      expect(Configurations.problems(given)).toEqual(expected)
    })

    it("a simulated model that is no script, with the expected form", () => {
      expect(Configurations.problems({ flags: { model: "simulated/nonsense" } })).toEqual([
        expect.stringMatching(/^--model: .*"nonsense".*Valid parts/s)
      ])
    })

    it("an address that others reach, if there is no token", () => {
      expect(Configurations.problems({ environment: { HOLDFAST_HOST: "0.0.0.0" } })).toEqual([
        "HOLDFAST_HOST: 0.0.0.0 can be reached from other machines, and there is no token. Set HOLDFAST_TOKEN (or server.tokenEnv) " +
          'to a secret of at least 16 characters, which clients then send as "Authorization: Bearer ...", or listen on 127.0.0.1.'
      ])
      expect(Configurations.problems({ environment: { HOLDFAST_HOST: "0.0.0.0", HOLDFAST_TOKEN: TOKEN } })).toEqual([])
    })
  })

  it("has the number of problems, and each on its own line", () => {
    const message = (file: unknown) =>
      Result.match(Configurations.resolve({ file }), { onSuccess: () => "", onFailure: ({ message }) => message })
    expect(message({ server: { port: -1 } })).toBe(
      "holdfast.config.json has a problem.\n  server.port: found -1; expected an integer from 0 to 65535."
    )
    expect(message({ server: { port: -1 }, model: "x" })).toMatch(
      /^holdfast\.config\.json has 2 problems\.\n {2}server.*\n {2}model/
    )
  })

  it("a bad value of a flag or a variable is no problem of the file, which is named beside one of its own", () => {
    const subject = (given: Parameters<typeof Configurations.resolve>[0]) =>
      Result.match(Configurations.resolve(given), { onSuccess: () => "", onFailure: ({ subject }) => subject })
    const flags = { model: "bogus" }
    expect(subject({ file: {}, flags })).toBe("The configuration")
    expect(subject({ file: {}, environment: { HOLDFAST_PORT: "abc" } })).toBe("The configuration")
    expect(subject({ file: { server: { port: -1 } }, flags })).toBe("holdfast.config.json")
    expect(subject({ file: { OPENAI_API_KEY: "sk" } })).toBe("holdfast.config.json")
  })

  it("a bad value in the file is a problem although the environment overrides it", () => {
    const given = { file: { server: { port: "x" } }, environment: { HOLDFAST_PORT: "80" } }
    expect(Configurations.problems(given)).toHaveLength(1)
  })

  it("precedence: flags, then environment, then file, then defaults", () => {
    const file = { server: { host: "127.0.0.2", port: 1 }, retry: { profile: "interactive", hints: false } }
    const environment = { HOLDFAST_PORT: "2", HOLDFAST_RETRY_PROFILE: "overnight" }
    expect(Configurations.config().server).toMatchObject({ host: "127.0.0.1", port: 4747 })
    expect(Configurations.config({ file }).server).toMatchObject({ host: "127.0.0.2", port: 1 })
    expect(Configurations.config({ file, environment }).server).toMatchObject({ host: "127.0.0.2", port: 2 })
    const all = Configurations.config({ file, environment, flags: { port: 3 } })
    expect(all.server).toMatchObject({ host: "127.0.0.2", port: 3 })
    expect(all.retry).toEqual({ profile: "overnight", hints: false })
    expect(Object.fromEntries(all.origins)).toEqual({
      "server.host": "holdfast.config.json",
      "server.port": "--port",
      "retry.profile": "HOLDFAST_RETRY_PROFILE",
      "retry.hints": "holdfast.config.json"
    })
  })

  it("an empty variable is not set", () => {
    const { model } = Configurations.config({ environment: { HOLDFAST_PORT: "", OPENAI_API_KEY: "" } })
    expect(model?.provider).toBe("simulated")
  })

  it("a path in the file is relative to the file, any other to the working directory", () => {
    const file = { database: { path: "./data.db" } }
    const pathOf = (given: Configurations.ConfigurationInput = {}) => Configurations.config(given).database.path
    expect(pathOf({ file })).toBe("/etc/data.db")
    expect(pathOf({ file, environment: { HOLDFAST_DATABASE_PATH: "./data.db" } })).toBe("/home/data.db")
    // So every command finds the database of the service with that file.
    expect(pathOf({ file: {} })).toBe("/etc/.holdfast/holdfast.db")
    expect(pathOf()).toBe("/home/.holdfast/holdfast.db")
    expect(pathOf({ file: { database: { path: ":memory:" } } })).toBe(":memory:")
  })

  it("journals are kept for 30 days, or as long as the file sets", () => {
    const kept = (database: object) => Configurations.config({ file: { database } }).database.retention
    expect(kept({})).toEqual(Duration.days(30))
    expect(kept({ retention: "2 hours" })).toEqual(Duration.hours(2))
    expect(kept({ retention: "Infinity" })).toEqual(Duration.infinity)
    expect(Configurations.problems({ file: { database: { retention: "a while" } } })).toHaveLength(1)
  })

  it("a token of the environment replaces one of the file, in either form", () => {
    const given = { file: { server: { tokenEnv: "MY_TOKEN" } }, environment: { HOLDFAST_TOKEN: TOKEN } }
    const token = Redacted.make(TOKEN)
    expect(Configurations.config(given).server).toMatchObject({ token, tokenVariable: "HOLDFAST_TOKEN" })
    const own = Configurations.config({ file: given.file, environment: { MY_TOKEN: TOKEN } }).server
    expect(own).toMatchObject({ token, tokenVariable: "MY_TOKEN" })
  })

  it("an address of a database names the database", () => {
    const problemsOf = (url: string) => Configurations.problems({ environment: { HOLDFAST_DATABASE_URL: url } })
    expect(problemsOf("postgres://h/d")).toEqual([])
    expect(problemsOf("postgres://h/")).toHaveLength(1)
    const isRunner = (runner: string) => Configurations.problems({ file: { cluster: { runner } } }).length === 0
    expect(["h:0", "h:1", "h:65535", "h:65536"].map(isRunner)).toEqual([false, true, true, false])
  })

  it("a database's address is not printed with the configuration, and its runner has its own address", () => {
    const url = "postgres://me:pass-word-0123@db/holdfast"
    const config = Configurations.config({
      file: { cluster: { shards: 12 } },
      environment: { HOLDFAST_DATABASE_URL: url, HOLDFAST_CLUSTER_RUNNER: "10.0.0.5:4748" },
      flags: { runner: "[::1]:4749" }
    })
    expect(config.database.url && Redacted.value(config.database.url)).toBe(url)
    expect(String(config.database.url) + JSON.stringify(config.database)).not.toContain("pass-word")
    expect(config.cluster).toEqual({ runner: { host: "::1", port: 4749 }, shards: 12 })
    expect(Configurations.config().cluster).toEqual({ runner: { host: "127.0.0.1", port: 4748 }, shards: 300 })
  })

  it("a runner without a shared database, and a runner that others can reach, are pointed out", () => {
    const flags = { runner: "10.0.0.5:4748" }
    const notices = (given: Configurations.ConfigurationInput) => Configurations.config(given).notices.join()
    expect(notices({ flags })).toContain("cluster.runner is set (--runner), and database.url is not")
    const environment = { HOLDFAST_DATABASE_URL: "postgres://db/holdfast" }
    expect(notices({ environment, flags })).toContain("keep them in a network of their own")
    expect(notices({ environment })).not.toContain("network of their own")
  })
})
