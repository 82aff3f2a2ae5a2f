/** The packed service, a provider and a browser, for all scenarios; each has models and conversations of its own. */
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium as playwright,
  type Locator,
  type Page
} from "playwright-core"
import { join } from "node:path"
import chromium from "@sparticuz/chromium"
import * as Service from "../../../../tools/src/acceptance/Service.ts"
import { ensure } from "../../../../tools/src/acceptance/Report.ts"
import * as Provider from "./Provider.ts"
import { bundle } from "../../../../tools/src/bundleProgram.ts"
import * as PageBuild from "../../tools/PageBuild.ts"

/** A wait that no scenario sees the end of. */
export const LONG = { schedule: { type: "steps", delays: ["1 hour"] } }

/** An overloaded provider. */
export const OVERLOADED = { status: 429, message: "The service is temporarily overloaded. Please retry." }

/** A guard against hanging: many times what a fact takes on a busy machine. */
const GUARD_MS = 90_000

/** A window of its own. `mayFail`: its requests may fail, because the service goes away or refuses them. */
export interface WindowOptions extends BrowserContextOptions {
  readonly mayFail?: boolean
}

export interface Rig {
  readonly program: string
  readonly provider: Provider.Provider
  readonly service: Service.Service
  readonly browser: Browser
  /** What went wrong in the pages so far: errors, violations of the policy, requests to other hosts. */
  readonly problems: ReadonlyArray<string>
  readonly open: (options?: WindowOptions) => Promise<Page>
  /** Opens a conversation over the API; returns its address in the page. */
  readonly create: (body: object) => Promise<string>
  /** The same with another service, which a scenario may kill. It removes the service itself. */
  readonly serve: () => Promise<Rig>
  readonly close: () => Promise<void>
}

export const make = async (): Promise<Rig> => {
  const folder = join(import.meta.dirname, "../node_modules/.cache/program")
  const [program, provider, browser] = await Promise.all([packed(folder), Provider.start(), launch()])
  const endpoint = { type: "openai-compatible", baseUrl: provider.url }
  const problems: Array<string> = []
  const serve = async (): Promise<Rig> => {
    const service = await Service.make(program, {
      model: "local/plain",
      providers: { local: endpoint, other: endpoint },
      retry: LONG,
      server: { maxFileBytes: 1_000_000 },
      tools: {
        files: { command: process.execPath, args: [join(import.meta.dirname, "tool.mjs")], confirm: ["write_file"] }
      }
    })
    await service.start()
    return {
      program,
      provider,
      service,
      browser,
      problems,
      serve,
      open: async ({ mayFail = false, ...options } = {}) => {
        const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options })
        context.setDefaultTimeout(GUARD_MS)
        watch(context, problems, mayFail)
        return context.newPage()
      },
      create: (body) => create(service.url, body),
      close: async () => {
        await browser.close()
        await service.remove()
        provider.close()
      }
    }
  }
  return serve()
}

/** Sends a prompt in an open conversation. */
export const prompt = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel("Prompt", { exact: true }).fill(text)
  await page.keyboard.press("Enter")
}

/** Opens a conversation whose first attempts fail, and waits until its wait is shown. */
export const waiting = async (
  rig: Rig,
  model: string,
  replies: ReadonlyArray<Provider.Reply> = [],
  options: WindowOptions = {}
): Promise<Page> => {
  rig.provider.plan(model, OVERLOADED, ...replies)
  const page = await rig.open(options)
  await page.goto(await rig.create({ model: `local/${model}`, retry: LONG }))
  await prompt(page, "Summarise yesterday's incidents.")
  await wait(page).waitFor()
  return page
}

/** The message of a wait. */
export const wait = (page: Page): Locator => page.locator(".wait")

/** Waits until a text is in a place. */
export const seen = (place: Locator | Page, text: string | RegExp): Promise<void> =>
  place.getByText(text).first().waitFor()

/** Waits until a fact holds in the page. */
export const until = (page: Page, fact: () => boolean): Promise<unknown> => page.waitForFunction(fact)

// --- internal

const create = async (url: string, body: object): Promise<string> => {
  const response = await fetch(`${url}/v1/conversations`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  ensure(response.ok, `a conversation is opened: ${response.status}`)
  const { conversationId } = (await response.json()) as { readonly conversationId: string }
  return `${url}/#/c/${conversationId}`
}

const watch = (context: BrowserContext, problems: Array<string>, mayFail: boolean): void => {
  context.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (hostname !== "127.0.0.1" && protocol !== "data:") problems.push(`a request to ${request.url()}`)
  })
  context.on("weberror", (error) => void problems.push(`an error in the page: ${error.error().stack}`))
  context.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return
    if (mayFail && /Failed to load resource|Refused to apply style/.test(message.text())) return
    // Another window deletes a conversation: a list that has just been read asks for what is gone by then, and shows it no more.
    if (/status of 404/.test(message.text()) && /\/v1\/(?:turns|conversations)\/[^/?]+$/.test(message.location().url))
      return
    problems.push(`the console: ${message.text()} (${message.location().url})`)
  })
}

/** A real Chromium from the npm registry, without anything of the system. */
const launch = async (): Promise<Browser> => {
  chromium.setGraphicsMode = false
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [...chromium.args.filter((arg) => !ADDED.test(arg)), "--no-sandbox"],
    headless: true
  })
}

/** Playwright chooses these itself. Without site isolation the page would not run as it does for a person. */
const ADDED =
  /^--(?:headless|disable-features|disable-site-isolation-trials|disable-web-security|allow-running-insecure-content|single-process|no-zygote)/

/** Bundles the program and its page into a folder, as `@holdfast/server` has them; returns the program. */
const packed = async (folder: string): Promise<string> => {
  await bundle(folder)
  await PageBuild.build(join(folder, "page"))
  return join(folder, "main.js")
}
