/** Keep the key where only pages of this port can read it, and load the page, which its cookie is sent with. */
localStorage.setItem("pldp-key", document.documentElement.dataset.key);
location.replace("/");
