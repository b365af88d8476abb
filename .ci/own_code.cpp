// A check for clang-tidy that finds nothing itself: it keeps the others to this project's code.
// Otherwise they match every declaration of every header, and drop what they find there.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <vector>

namespace {

class OwnCode : public clang::tidy::ClangTidyCheck {
public:
    using ClangTidyCheck::ClangTidyCheck;

    void registerMatchers(clang::ast_matchers::MatchFinder* finder) override {
        finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
    }

    // Called before anything below the translation unit is matched. Loads nothing from a
    // precompiled header.
    void check(const clang::ast_matchers::MatchFinder::MatchResult& found) override {
        const clang::SourceManager& sources = *found.SourceManager;
        std::vector<clang::Decl*> own;
        for (clang::Decl* each :
             found.Nodes.getNodeAs<clang::TranslationUnitDecl>("unit")->noload_decls()) {
            const clang::SourceLocation place = each->getBeginLoc();
            if (place.isValid() && !sources.isInSystemHeader(sources.getExpansionLoc(place))) {
                own.push_back(each);
            }
        }
        found.Context->setTraversalScope(own);
    }
};

class Module : public clang::tidy::ClangTidyModule {
public:
    void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
        factories.registerCheck<OwnCode>("steady-own-code");
    }
};

const clang::tidy::ClangTidyModuleRegistry::Add<Module> added{"steady",
                                                              "Keeps all checks to own code."};

}  // namespace
