// What pages do beyond links and forms: search as you type, keys, and the form of a one-time link.
"use strict";

// Pages of this server are the only texts that become documents.
const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("vademecum", { createHTML: (text) => text })
  : { createHTML: (text) => text };

const field = document.querySelector("input[type=search]");

// A one-time link logs in without a further click. Programs that look at links run no scripts.
const code = document.querySelector("form[data-submit]");
if (code) code.requestSubmit();

// On the page of results, the results follow the query while it is typed.
if (field && document.querySelector("#results")) {
  let timer = 0;
  let request = null;
  const show = async () => {
    const address = new URL(location.href);
    if (address.searchParams.get("q") === field.value || !field.value.trim()) return;
    address.searchParams.set("q", field.value);
    address.searchParams.delete("offset");
    if (request) request.abort();
    request = new AbortController();
    try {
      const answer = await fetch(address, { signal: request.signal, redirect: "error" });
      if (!answer.ok) return;
      const text = policy.createHTML(await answer.text());
      const page = new DOMParser().parseFromString(text, "text/html");
      const found = page.querySelector("#results");
      if (!found) return;
      document.querySelector("#results").replaceWith(found);
      document.title = page.title;
      for (const hidden of document.querySelectorAll("form.filters input[name=q]")) {
        hidden.value = field.value;
      }
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, 200);
  });
}

// A part of a page that takes longer comes from an address of its own.
for (const link of document.querySelectorAll("a[data-replace]")) {
  const id = link.dataset.replace;
  fetch(link.href, { redirect: "error" })
    .then((answer) => (answer.ok ? answer.text() : ""))
    .then((text) => {
      const page = new DOMParser().parseFromString(policy.createHTML(text), "text/html");
      const found = page.getElementById(id);
      if (found) document.getElementById(id).replaceWith(found);
    })
    .catch(() => {});
}

// A text that was not saved is not lost by a click.
const editor = document.querySelector("form[data-unsaved]");
if (editor) {
  const ask = (event) => event.preventDefault();
  editor.addEventListener("input", () => addEventListener("beforeunload", ask));
  if (editor.dataset.unsaved === "changed") addEventListener("beforeunload", ask);
  editor.addEventListener("submit", () => removeEventListener("beforeunload", ask));
  editor.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    editor.requestSubmit(editor.querySelector("button[value=save]"));
  });
}

// Keys: / goes to the search field, j and k to the next and previous result, e to the editor of a note.
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, textarea, select, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && field) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll(".entry > h2 > a, .entry > h3 > a")];
    const at = links.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    const next = links[Math.max(at, 0)];
    if (next) next.focus();
  } else if (event.key === "e") {
    const edit = document.querySelector("a[data-key=e]");
    if (edit) edit.click();
  }
});

// The page of a permalink begins at the marked passage.
const passage = document.querySelector("#passage");
if (passage && !location.hash) passage.scrollIntoView({ block: "center" });

// Passkeys: the authenticator answers a challenge, and the form sends the answer.
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (it) => it.charCodeAt(0));
const textOf = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const wordsOf = (text) => text.split(" ").filter((word) => word);

const askAuthenticator = async ({ passkey, challenge, server, ...data }) => {
  const shared = { challenge: bytesOf(challenge), timeout: 120000 };
  if (passkey === "get") {
    const publicKey = { ...shared, rpId: server, userVerification: "required" };
    const { rawId, response } = await navigator.credentials.get({ publicKey });
    return { rawId, response, authenticatorData: response.authenticatorData };
  }
  const publicKey = {
    ...shared,
    rp: { id: server, name: `Vademecum ${server}` },
    user: { id: bytesOf(data.handle), name: data.user, displayName: data.user },
    pubKeyCredParams: wordsOf(data.algorithms).map((alg) =>
      ({ type: "public-key", alg: Number(alg) })),
    excludeCredentials: wordsOf(data.known).map((id) => ({ type: "public-key", id: bytesOf(id) })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  };
  const { rawId, response } = await navigator.credentials.create({ publicKey });
  return { rawId, response, authenticatorData: response.getAuthenticatorData() };
};

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!window.PublicKeyCredential) continue;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const failure = form.querySelector("[data-failure]");
    failure.hidden = true;
    try {
      const answer = await askAuthenticator({ ...form.dataset });
      form.elements.credential.value = textOf(answer.rawId);
      form.elements.client_data.value = textOf(answer.response.clientDataJSON);
      form.elements.authenticator_data.value = textOf(answer.authenticatorData);
      form.elements.signature.value =
        answer.response.signature ? textOf(answer.response.signature) : "";
      form.submit();
    } catch {
      failure.hidden = false;
    }
  });
}
