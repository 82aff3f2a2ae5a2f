/**
 * Parts of the page that are loaded behind its first paint.
 *
 * Parts.P1. The list and the form of a new conversation need none of them. An opened conversation is loaded beside them where the address names one, and
 *     otherwise once nothing else is to do, so that a click need not wait for it.
 */
import { lazy } from "react"
import * as PageVersion from "./PageVersion.ts"
import type { Route } from "./Route.ts"

const conversation = () => import("../conversation/ConversationPage.tsx")

/** An opened conversation, with Markdown. */
export const ConversationPage = lazy(() =>
  PageVersion.load(conversation).then(({ ConversationPage }) => ({ default: ConversationPage }))
)

/** The night, with its timeline. */
export const NightPage = lazy(() =>
  PageVersion.load(() => import("../night/NightPage.tsx")).then(({ NightPage }) => ({ default: NightPage }))
)

/** The health of endpoints. */
export const HealthPage = lazy(() =>
  PageVersion.load(() => import("../health/HealthPage.tsx")).then(({ HealthPage }) => ({ default: HealthPage }))
)

/** The schedule and its dry runs. */
export const BeforePage = lazy(() =>
  PageVersion.load(() => import("../before/BeforePage.tsx")).then(({ BeforePage }) => ({ default: BeforePage }))
)

/** Loads what will be needed (Parts.P1). A failure is left to the part itself, once it is shown. */
export const loadAhead = (route: Route): void => {
  const load = (): void => void conversation().catch(() => undefined)
  if (route.page === "conversation") load()
  else addEventListener("load", () => setTimeout(load, QUIET_MS), { once: true })
}

// --- internal

/** Behind the load of the page: its first calls come before. */
const QUIET_MS = 500
