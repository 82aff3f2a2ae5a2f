/** Files of a prompt in a real browser: chosen, pasted, dropped; the limits before sending; images in their box. */
import { ensure, same, show } from "../../../../tools/src/acceptance/Report.ts"
import { type Rig, seen } from "./Rig.ts"

/** One red pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="

/** The width of an image, once it is loaded. */
const shownWidth = (element: Element): Promise<number> => {
  const image = element as HTMLImageElement
  return image.decode().then(() => image.naturalWidth)
}

export const run = (rig: Rig): Promise<void> =>
  show(
    "files are chosen, pasted and dropped; too large ones are refused before sending; images are in their box",
    async () => {
      const page = await rig.open()
      await page.goto(await rig.create({ model: "local/pictures" }))
      const chooser = page.locator("input[type=file]")
      const attached = page.getByRole("list", { name: "Attached files" })
      await chooser.setInputFiles({ name: "red.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") })
      await seen(attached, "red.png")
      await attached.locator("img").waitFor()
      await chooser.setInputFiles({ name: "film.mp4", mimeType: "video/mp4", buffer: Buffer.alloc(1_200_000) })
      await seen(page.getByRole("alert"), "“film.mp4” has 1.2 MB. A file may have 1 MB at most.")

      const given = (type: "paste" | "drop", name: string, text: string) =>
        page.evaluate(
          ({ name, text, type }) => {
            const data = new DataTransfer()
            data.items.add(new File([text], name, { type: "text/plain" }))
            const field = document.querySelector("textarea")
            const options = { bubbles: true, cancelable: true }
            field?.dispatchEvent(
              type === "paste"
                ? new ClipboardEvent("paste", { ...options, clipboardData: data })
                : new DragEvent("drop", { ...options, dataTransfer: data })
            )
          },
          { name, text, type }
        )
      await given("paste", "pasted.txt", "A pasted text.")
      await seen(attached, "pasted.txt")
      await given("drop", "dropped.txt", "A dropped text.")
      await seen(attached, "dropped.txt")
      await page.getByRole("button", { name: "Remove pasted.txt" }).click()
      const field = page.getByLabel("Prompt", { exact: true })
      ensure(await field.evaluate((element) => element === document.activeElement), "the focus is on the prompt")
      same(
        await attached.locator(".attached-name").allInnerTexts(),
        ["red.png", "dropped.txt"],
        "the files that go along"
      )
      await field.fill("What do you see?")
      await page.keyboard.press("Enter")
      await seen(page, "Here is the answer.")
      same(await attached.count(), 0, "files beside the next prompt")
      const image = page.locator(".message.user img")
      same(await image.getAttribute("alt"), "Image of the prompt: red.png", "the image of the prompt")
      same(await image.evaluate(shownWidth), 1, "the width of the image")
      await seen(page.locator(".message.user"), /dropped\.txt/)
      ensure(rig.provider.received("pictures").includes(PIXEL), "the provider got the image's bytes")
      await page.reload()
      await image.waitFor()
      await page.context().close()
    }
  )
