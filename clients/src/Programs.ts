/** The programs over the SDKs, one file a SDK: `src/programs`. */
import { join } from "node:path"
import { type Client, KEY, type Place } from "./Client.ts"
import * as Chat from "./formats/Chat.ts"
import * as Gemini from "./formats/Gemini.ts"
import * as Messages from "./formats/Messages.ts"
import * as Responses from "./formats/Responses.ts"

interface Program {
  readonly name: string
  readonly packages: ReadonlyArray<string>
  readonly file: string
  /** A further argument of the program, behind its mode. */
  readonly kind?: string
  readonly wire: keyof typeof WIRES
  /** What it expects at the end of its base URL. */
  readonly path?: string
  /** Whether it repeats a call that is cut before the head of an answer. */
  readonly repeats: boolean
}

const WIRES = {
  chat: { format: Chat.format, type: "openai-compatible", base: "/v1" },
  responses: { format: Responses.format, type: "openai-responses", base: "/v1" },
  messages: { format: Messages.format, type: "anthropic", base: "" },
  gemini: { format: Gemini.format, type: "gemini", base: "" }
} as const

const programs: ReadonlyArray<Program> = [
  { name: "openai: chat", packages: ["openai"], file: "openai", kind: "chat", wire: "chat", repeats: true },
  {
    name: "openai: responses",
    packages: ["openai"],
    file: "openai",
    kind: "responses",
    wire: "responses",
    repeats: true
  },
  { name: "@anthropic-ai/sdk", packages: ["@anthropic-ai/sdk"], file: "anthropic", wire: "messages", repeats: true },
  {
    name: "ai: openai",
    packages: ["ai", "@ai-sdk/openai"],
    file: "ai",
    kind: "openai",
    wire: "responses",
    repeats: true
  },
  {
    name: "ai: openai-compatible",
    packages: ["ai", "@ai-sdk/openai-compatible"],
    file: "ai",
    kind: "compatible",
    wire: "chat",
    repeats: true
  },
  {
    name: "ai: anthropic",
    packages: ["ai", "@ai-sdk/anthropic"],
    file: "ai",
    kind: "anthropic",
    wire: "messages",
    path: "/v1",
    repeats: true
  },
  {
    name: "ai: google",
    packages: ["ai", "@ai-sdk/google"],
    file: "ai",
    kind: "google",
    wire: "gemini",
    path: "/v1beta",
    repeats: true
  },
  { name: "@google/genai", packages: ["@google/genai"], file: "genai", wire: "gemini", repeats: false },
  {
    name: "@langchain/openai",
    packages: ["@langchain/openai", "@langchain/core"],
    file: "langchain",
    kind: "openai",
    wire: "chat",
    repeats: true
  },
  {
    name: "@langchain/anthropic",
    packages: ["@langchain/anthropic", "@langchain/core"],
    file: "langchain",
    kind: "anthropic",
    wire: "messages",
    repeats: true
  }
]

/** Starts a program that makes so many calls at once, with streams, over the SDK of Anthropic. */
export const crowd =
  (count: number) =>
  ({ url }: Place, prompt: string) => ({
    command: [process.execPath, join(import.meta.dirname, "programs/anthropic.mjs"), "crowd", String(count), prompt],
    env: { BASE_URL: url, API_KEY: KEY }
  })

/** The clients: each program with streams, which has tools, too, and with one document. */
export const table: ReadonlyArray<Client> = programs.flatMap(
  ({ file, kind = "", name, packages, path = "", repeats, wire }) =>
    (["stream", "document"] as const).map((mode): Client => {
      const start = ({ url }: Place, prompt: string) => ({
        command: [process.execPath, join(import.meta.dirname, `programs/${file}.mjs`), mode, kind, prompt],
        env: { BASE_URL: `${url}${path}`, API_KEY: KEY }
      })
      return {
        ...WIRES[wire],
        name: mode === "stream" ? name : `${name}, one document`,
        packages,
        start,
        repeats: repeats ? "before the head" : "never",
        ...(mode === "stream" ? { shell: (command: string) => ({ name: "shell", input: { command } }) } : {})
      }
    })
)
