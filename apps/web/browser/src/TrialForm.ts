/** Fills the form of Before the night. */
import type { Page } from "playwright-core"

/** Chooses a profile and settings by their labels, and tries them; the result is shown when this resolves. */
export const tryOut = async (
  page: Page,
  profile: string,
  settings: Readonly<Record<string, string>>
): Promise<void> => {
  await page.getByLabel("Profile").selectOption(profile)
  for (const [label, value] of Object.entries(settings)) await page.getByLabel(label).fill(value)
  await page
    .getByRole("img", { name: /^as changed/ })
    .first()
    .waitFor()
  await page.getByRole("button", { name: "Try it" }).click()
  await page.getByRole("region", { name: "Result of the dry run" }).waitFor()
}
