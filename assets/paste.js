// Takes an image from the clipboard, wherever on the page it is pasted, unless text is pasted into a box.

const receivers = new WeakMap();

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".crosslight-paste");
  if (!root) {
    root = element("div", "crosslight-paste", "or paste an image here (Ctrl + V)");
    root.tabIndex = 0;
    root.setAttribute("role", "note");
    parentElement.append(root);
    const listen = (event) => {
      if (!root.isConnected) return document.removeEventListener("paste", listen);
      const file = [...(event.clipboardData?.files ?? [])].find((pasted) => pasted.type.startsWith("image/"));
      const typing = event.target?.closest?.("input, textarea");
      if (!file || (typing && event.clipboardData.types.includes("text/plain"))) return;
      event.preventDefault();
      const { most, send } = receivers.get(root);
      if (file.size > most) return send("pasted", `too large ${Date.now()}`);
      const reader = new FileReader();
      reader.onload = () => send("pasted", reader.result);
      reader.readAsDataURL(file);
    };
    document.addEventListener("paste", listen);
  }
  receivers.set(root, { most: data.most, send: setTriggerValue });
}
